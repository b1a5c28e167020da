// swift-tools-version: 6.3
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PackageDescription

/// Settings of every Swift target: the language as it will be, and no warning let through on our own machines.
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    + (Context.environment["CACHE_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)])
    + (Context.environment["CACHE_INTERNAL_CHECKS"] == nil ? [] : [.define("CACHE_INTERNAL_CHECKS")])
    // What is compiled where there is no Linux, so that it can be tested where there is.
    + (Context.environment["CACHE_PORTABLE"] == nil ? [] : [.define("CACHE_PORTABLE")])

/// Whether the tools are built: cache-demo, cache-sim and what tests them.
///
/// They need packages that the libraries do not, and SwiftPM fetches every dependency of a package, also those of
/// targets that nobody asked for. So without the variable the manifest is that of the libraries, wherever it lies and
/// whoever reads it; `Scripts/check-consumer.sh` checks that.
let hasTools = Context.environment["CACHE_TOOLS"] != nil

/// A product of another package that a trait turns on.
func optional(_ name: String, of package: String, with trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let package = Package(
    name: "swift-memory-cache",
    // Where `Mutex` and `Atomic` are; Linux needs no line. On Apple's platforms nothing has been run yet.
    platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11), .tvOS(.v18), .visionOS(.v2)],
    products: [
        .library(name: "MemoryCaching", targets: ["MemoryCaching"]),
        .library(name: "FoundationCaching", targets: ["FoundationCaching"]),
        .library(name: "TieredCaching", targets: ["TieredCaching"]),
        .library(name: "ValkeyCaching", targets: ["ValkeyCaching"]),
        .library(name: "PurgeableMemory", targets: ["PurgeableMemory"]),
        .library(name: "MemoryPressure", targets: ["MemoryPressure"]),
        .library(name: "MemoryCachingTestKit", targets: ["MemoryCachingTestKit"]),
        .library(name: "CacheSimulation", targets: ["CacheSimulation"]),
    ],
    traits: [
        .trait(name: "MetricsSupport", description: "Report a cache's statistics through swift-metrics."),
        .trait(name: "LoggingSupport", description: "Log what loads do through swift-log."),
        .trait(name: "TracingSupport", description: "Trace loads through swift-distributed-tracing."),
        .trait(name: "ServiceLifecycleSupport", description: "Run the maintenance as a service of a service group."),
        .trait(name: "ValkeySupport", description: "Put a near cache in front of Valkey or Redis, on SwiftNIO."),
    ],
    dependencies: [
        // Of the traits alone, all off by default: without them nothing of this is fetched.
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        // The product, from the ground up: every arrow points down this list.
        .target(name: "CMemoryShims"),
        .target(name: "ForkSafety", dependencies: ["CMemoryShims"], swiftSettings: settings),
        .target(name: "MemoryPressure", dependencies: ["ForkSafety", "CMemoryShims"], swiftSettings: settings),
        .target(name: "PurgeableMemory", dependencies: ["ForkSafety", "CMemoryShims"], swiftSettings: settings),
        .target(
            name: "MemoryCaching",
            dependencies: [
                "PurgeableMemory", "MemoryPressure", "ForkSafety", "CMemoryShims",
                optional("Metrics", of: "swift-metrics", with: "MetricsSupport"),
                optional("Logging", of: "swift-log", with: "LoggingSupport"),
                optional("Tracing", of: "swift-distributed-tracing", with: "TracingSupport"),
                optional("ServiceLifecycle", of: "swift-service-lifecycle", with: "ServiceLifecycleSupport"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FoundationCaching",
            dependencies: ["MemoryCaching", "PurgeableMemory", "ForkSafety"],
            swiftSettings: settings
        ),
        .target(
            name: "TieredCaching",
            dependencies: [
                "MemoryCaching", "MemoryPressure",
                optional("Metrics", of: "swift-metrics", with: "MetricsSupport"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ValkeyCaching",
            dependencies: [
                "TieredCaching",
                optional("NIOCore", of: "swift-nio", with: "ValkeySupport"),
                optional("NIOPosix", of: "swift-nio", with: "ValkeySupport"),
                optional("NIOSSL", of: "swift-nio-ssl", with: "ValkeySupport"),
                optional("ServiceLifecycle", of: "swift-service-lifecycle", with: "ServiceLifecycleSupport"),
            ],
            swiftSettings: settings
        ),

        // Replays traces through the product.
        .target(name: "CacheSimulation", dependencies: ["MemoryCaching"], swiftSettings: settings),

        // Memory cgroups for cache-demo and the tests; no library depends on it.
        .target(name: "ControlGroups", dependencies: ["MemoryPressure"], swiftSettings: settings),

        // For the tests of users, and our own.
        .target(name: "MemoryCachingTestKit", swiftSettings: settings),

        // Tests: one target per library, the concurrency stress apart so that ThreadSanitizer can run it alone.
        .target(name: "_CSanitizerSupport", path: "Tests/_CSanitizerSupport"),
        .target(
            name: "_CacheTestSupport",
            dependencies: [
                "MemoryCaching", "PurgeableMemory", "MemoryPressure", "ControlGroups", "CMemoryShims",
                "_CSanitizerSupport",
            ],
            path: "Tests/_CacheTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "MemoryPressureTests",
            dependencies: ["MemoryPressure", "ForkSafety", "CMemoryShims", "_CacheTestSupport"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "PurgeableStress",
            dependencies: ["PurgeableMemory", "CMemoryShims", "_CacheTestSupport"],
            path: "Tests/PurgeableStress",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PurgeableMemoryTests",
            dependencies: ["PurgeableMemory", "PurgeableStress", "CMemoryShims", "_CacheTestSupport"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "CacheStress",
            dependencies: ["MemoryCaching", "_CacheTestSupport"],
            path: "Tests/CacheStress",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "memory-fill",
            dependencies: ["MemoryCaching", "FoundationCaching", "PurgeableMemory", "MemoryPressure"],
            path: "Tests/MemoryFill",
            swiftSettings: settings
        ),
        .testTarget(
            name: "MemoryCachingTests",
            dependencies: [
                "MemoryCaching", "PurgeableMemory", "MemoryPressure", "ForkSafety", "MemoryCachingTestKit",
                "CMemoryShims", "_CacheTestSupport", "memory-fill",
                optional("MetricsTestKit", of: "swift-metrics", with: "MetricsSupport"),
                optional("InMemoryLogging", of: "swift-log", with: "LoggingSupport"),
                optional("InMemoryTracing", of: "swift-distributed-tracing", with: "TracingSupport"),
                optional("ServiceLifecycleTestKit", of: "swift-service-lifecycle", with: "ServiceLifecycleSupport"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MemoryCachingTestKitTests",
            dependencies: ["MemoryCachingTestKit", "MemoryCaching"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FoundationCachingTests",
            dependencies: ["FoundationCaching", "MemoryCaching", "PurgeableMemory", "_CacheTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TieredCachingTests",
            dependencies: [
                "TieredCaching", "MemoryCaching", "FoundationCaching", "MemoryCachingTestKit", "_CacheTestSupport",
                optional("MetricsTestKit", of: "swift-metrics", with: "MetricsSupport"),
                optional("InMemoryTracing", of: "swift-distributed-tracing", with: "TracingSupport"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ValkeyCachingTests",
            dependencies: [
                "ValkeyCaching", "TieredCaching", "_CacheTestSupport",
                optional("NIOCore", of: "swift-nio", with: "ValkeySupport"),
                optional("NIOEmbedded", of: "swift-nio", with: "ValkeySupport"),
                optional("NIOPosix", of: "swift-nio", with: "ValkeySupport"),
                optional("NIOSSL", of: "swift-nio-ssl", with: "ValkeySupport"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CacheSimulationTests",
            dependencies: ["CacheSimulation", "MemoryCaching", "_CacheTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ConcurrencyTests",
            dependencies: [
                "MemoryCaching", "FoundationCaching", "PurgeableMemory", "MemoryPressure", "MemoryCachingTestKit",
                "CMemoryShims", "_CacheTestSupport",
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "linkage-probe",
            dependencies: ["MemoryCaching"],
            path: "Tests/LinkageTests/Probe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "LinkageTests",
            dependencies: ["linkage-probe"],
            exclude: ["Probe"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)

if hasTools {
    package.products += [
        .executable(name: "cache-demo", targets: ["cache-demo"]),
        .executable(name: "cache-sim", targets: ["cache-sim"]),
        .executable(name: "stale-check", targets: ["stale-check"]),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.4.0"),
    ]
    package.targets += [
        .executableTarget(
            name: "cache-sim",
            dependencies: ["CacheSimulation", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "cache-demo",
            dependencies: [
                "MemoryCaching", "FoundationCaching", "CacheSimulation", "MemoryPressure", "PurgeableMemory",
                "ControlGroups",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "stale-check",
            dependencies: [
                "ValkeyCaching", "TieredCaching", "MemoryCaching", "CMemoryShims",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CacheDemoTests",
            dependencies: [
                "cache-demo", "cache-sim", "CacheSimulation", "ControlGroups", "MemoryPressure",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
    ]
}

// A short way round while working on one part: `CACHE_TEST_TARGETS=MemoryCachingTests swift test` builds the libraries
// and those test targets, and neither the tools nor the other tests.
if let chosen = Context.environment["CACHE_TEST_TARGETS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
    let needed = Set(package.targets.filter { $0.type == .test }.flatMap(\.dependencies).map(\.nameOfTarget))
    package.products.removeAll { $0 is Product.Executable && !needed.contains($0.name) }
    package.targets.removeAll { $0.type == .executable && !needed.contains($0.name) }
}

extension Target.Dependency {
    /// The target's name, or nothing for products of other packages.
    var nameOfTarget: String {
        switch self {
        case .byNameItem(let name, _), .targetItem(let name, _): name
        default: ""
        }
    }
}
