// swift-tools-version: 6.2
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

let package = Package(
    name: "purgeable-benchmarks",
    dependencies: [.package(name: "swift-memory-cache", path: "../..")],
    targets: [
        .executableTarget(
            name: "PurgeableBenchmarks",
            dependencies: [.product(name: "PurgeableMemory", package: "swift-memory-cache")]
        )
    ],
    swiftLanguageModes: [.v6]
)
