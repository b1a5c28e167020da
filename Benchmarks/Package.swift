// swift-tools-version: 6.2
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

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
        .executableTarget(
            name: "cache-bench",
            dependencies: [
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "FoundationCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "purgeable-cache-bench",
            dependencies: [
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "tier-bench",
            dependencies: [
                .product(name: "TieredCaching", package: "swift-memory-cache"),
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "pause-bench",
            dependencies: [
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "loading-bench",
            dependencies: [
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "purgeable-bytes-bench",
            dependencies: [
                .product(name: "PurgeableMemory", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "nscache-bench",
            dependencies: [
                .product(name: "FoundationCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
