// swift-tools-version: 6.2
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// A benchmark: a tool that uses products of the library.
func benchmark(_ name: String, of products: String...) -> Target {
    .executableTarget(
        name: name,
        dependencies: products.map { .product(name: $0, package: "swift-memory-cache") }
            + ["BenchSupport", .product(name: "ArgumentParser", package: "swift-argument-parser")],
        swiftSettings: settings
    )
}

// Benchmarks stand apart so that the root manifest stays free of what they need.
//
// `cache-bench` has its own loop. package-benchmark measures one closure of one process at a time; the question here is
// the ratio between implementations, a JVM's among them, in one sitting with interleaved rounds: a machine's mood,
// which changes from minute to minute, then falls on all of them alike.
let package = Package(
    name: "swift-memory-cache-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-memory-cache", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        .target(
            name: "BenchSupport",
            dependencies: [.product(name: "CacheSimulation", package: "swift-memory-cache")],
            swiftSettings: settings
        ),
        benchmark("cache-bench", of: "MemoryCaching", "FoundationCaching"),
        benchmark("purgeable-cache-bench", of: "MemoryCaching", "MemoryPressure"),
        benchmark("tier-bench", of: "TieredCaching", "MemoryCaching"),
        benchmark("pause-bench", of: "MemoryCaching"),
        benchmark("loading-bench", of: "MemoryCaching"),
        benchmark("purgeable-bytes-bench", of: "PurgeableMemory"),
        benchmark("nscache-bench", of: "FoundationCaching"),
        benchmark("key-bench", of: "MemoryCaching"),
    ],
    swiftLanguageModes: [.v6]
)
