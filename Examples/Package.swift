// swift-tools-version: 6.2
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

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
        .executableTarget(
            name: "tile-server",
            dependencies: [
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "MemoryPressure", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
        .executableTarget(
            name: "tier-demo",
            dependencies: [
                .product(name: "ValkeyCaching", package: "swift-memory-cache"),
                .product(name: "TieredCaching", package: "swift-memory-cache"),
                .product(name: "MemoryCaching", package: "swift-memory-cache"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
