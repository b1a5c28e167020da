// swift-tools-version: 6.2
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

/// An example: a tool that uses products of the library, and `others`.
func example(_ name: String, of products: String..., and others: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name,
        dependencies: products.map { .product(name: $0, package: "swift-memory-cache") }
            + [.product(name: "ArgumentParser", package: "swift-argument-parser")] + others,
        swiftSettings: [
            .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("InternalImportsByDefault"),
        ]
    )
}

// A package of its own, so that what a web server needs stays out of the library's manifest.
let package = Package(
    name: "swift-memory-cache-examples",
    dependencies: [
        .package(
            name: "swift-memory-cache",
            path: "..",
            traits: ["MetricsSupport", "LoggingSupport", "ServiceLifecycleSupport", "ValkeySupport"]
        ),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        example(
            "tile-server",
            of: "MemoryCaching",
            "FoundationCaching",
            "MemoryPressure",
            and: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]
        ),
        example("tier-demo", of: "ValkeyCaching", "TieredCaching", "MemoryCaching"),
    ],
    swiftLanguageModes: [.v6]
)
