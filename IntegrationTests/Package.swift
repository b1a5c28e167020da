// swift-tools-version: 6.2
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

// A consumer of FoundationCaching, the way its users are: sources as they are written for Apple's platforms, adopted by
// each of the documented routes. `run` builds and runs them all. Apart from the root package, because these are
// programs of their own and one of them exists to fail.

let caching = Target.Dependency.product(name: "FoundationCaching", package: "swift-memory-cache")

let package = Package(
    name: "apple-style-sources",
    dependencies: [.package(name: "swift-memory-cache", path: "..")],
    targets: [
        // The same unchanged sources (Sources/AppleStyle, by symbolic link) with one file more in the module.
        .executableTarget(
            name: "ShimmedByExport",
            dependencies: [caching],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        ),
        .executableTarget(
            name: "ShimmedByTypealias",
            dependencies: [caching],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        // One source with its own imports.
        .executableTarget(name: "ScopedImports", dependencies: [caching]),
        // The list of defects against Foundation's own class.
        .executableTarget(name: "FoundationDefects"),
    ],
    swiftLanguageModes: [.v6]
)
