//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

/// Caches filled at full speed with more than their container may hold. These are the short versions; the whole ones
/// are run by hand: `Scripts/fill-in-cgroup.sh`.
@Suite(.serialized, .enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup")) struct PressureFillTests {
    /// The tool beside the test bundle.
    static var tool: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("memory-fill").path
    }

    struct Report: Decodable {
        var share: Double
        var wrong: Int
        var allocator: String
        var insertions: Int
        var looks: Int
    }

    /// Less than the whole run's 256 MiB, and so is what is inserted: seconds instead of minutes.
    static let limit = 96 << 20

    @Test(arguments: ["memory", "costs", "purgeable"], [200, 4096, 65536])
    func anUnlimitedCacheSurvives(kind: String, bytes: Int) throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let threads = bytes == 4096 ? 2 : 1
        // Beside values of 200 bytes a cache takes half as much for itself.
        let mebibytes = bytes == 200 ? 112 : 384
        let outcome = try sandbox.run(Self.tool, [kind, "\(bytes)", "\(mebibytes)", "\(threads)"])
        #expect(outcome.exitStatus == 0, "\(outcome)")
        #expect(sandbox.outOfMemoryKills == 0)
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        #expect(report.wrong == 0, "\(outcome)")
        // A process takes some 15 MiB before it caches anything: a sixth of this limit. Measured in debug builds: 0.57
        // to 0.59 with 200 bytes, 0.78 and more else; half of that is asked for, because the processors may be busy.
        #expect(report.share >= (bytes == 200 ? 0.25 : 0.45), "\(outcome)")
        // Measured: one in fifty. Where every grant was taken back at each turn of the governor's thread, three in
        // five insertions looked at usage, and a full cache took a twentieth of the insertions.
        if bytes == 200, kind != "purgeable" { #expect(report.looks < report.insertions / 8, "\(outcome)") }
    }

    /// A quarter of the limit taken at once beside a full cache, and two fifths that were announced.
    @Test(arguments: ["memory 300", "memory 4096", "nscache 300", "nscache 4096"], ["burst=24", "announced=38"])
    func whatTheRestOfTheProcessTakesAtOnceKillsNobody(filled: String, situation: String) throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let arguments = filled.split(separator: " ").map(String.init) + ["120", "1", situation]
        let outcome = try sandbox.run(Self.tool, arguments)
        #expect(outcome.exitStatus == 0, "\(outcome)")
        #expect(sandbox.outOfMemoryKills == 0 && outcome.errors.isEmpty, "\(outcome)")
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        #expect(report.wrong == 0, "\(outcome)")
    }

    /// A cache that nobody fills but the removal handler of another, and keys that are larger than their values: both
    /// were killed, for neither asked whether there was room.
    @Test(arguments: ["second 1000", "second 65536", "demoted 4096", "keys 300", "keys 8000"])
    func nobodyInsertsWithoutAsking(filled: String) throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let outcome = try sandbox.run(Self.tool, filled.split(separator: " ").map(String.init) + ["240", "1"])
        #expect(outcome.exitStatus == 0, "\(outcome)")
        #expect(sandbox.outOfMemoryKills == 0)
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        #expect(report.wrong == 0, "\(outcome)")
        // Measured in release builds: 0.41 to 0.68.
        #expect(report.share >= 0.2, "\(outcome)")
    }

    /// The same beside four threads, whose arenas in the allocator grow in turn as one or the other is faster, while a
    /// quarter is taken three times.
    @Test func aBurstBesideSeveralThreadsKillsNobody() throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let outcome = try sandbox.run(Self.tool, ["memory", "200", "240", "4", "burst=24"])
        #expect(outcome.exitStatus == 0, "\(outcome)")
        #expect(sandbox.outOfMemoryKills == 0)
    }

    /// Pages of values that are pinned stay on the kernel's list of those that it could take.
    @Test(arguments: [1024, 65536]) func pinnedValuesAreCounted(bytes: Int) throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let outcome = try sandbox.run(Self.tool, ["memory", "\(bytes)", "160", "2", "pinned=40"])
        #expect(outcome.exitStatus == 0, "\(outcome)")
        #expect(sandbox.outOfMemoryKills == 0)
    }

    /// Values that become 300 times as large, or as small, in the middle: what was learned of the first is wrong for
    /// the second, and so is what they leave behind in the allocator's heap.
    /// With a million bytes four threads fill what lies beyond the mark in 2 ms: where one insertion in sixteen looked
    /// at the clock, 6 of 8 processes were killed.
    @Test(arguments: ["200,65536", "65536,200", "200-65536", "200,1000000"]) func sizesMayChange(sizes: String) throws {
        var shares: [Double] = []
        // The share is that of one moment. At 2 GB/s a cache of 64 MiB is exchanged every 30 ms, and holds less than a
        // tenth in one moment of thirty.
        while shares.count < 3, shares.allSatisfy({ $0 <= 0.1 }) {
            let sandbox = try CgroupSandbox(limitBytes: Self.limit)
            defer { sandbox.remove() }
            let outcome = try sandbox.run(Self.tool, ["memory", sizes, "240", sizes.hasSuffix("000") ? "4" : "2"])
            #expect(outcome.exitStatus == 0, "\(outcome)")
            #expect(sandbox.outOfMemoryKills == 0)
            let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
            #expect(report.wrong == 0, "\(outcome)")
            shares.append(report.share)
        }
        #expect(shares.contains { $0 > 0.1 }, "\(shares)")
    }

    /// Allocators in the place of the C library's, where they are installed.
    static let allocators = [
        "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2",
    ].compactMapValues { name in
        ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/\(name)" }
            .first { FileManager.default.fileExists(atPath: $0) }
    }

    /// The thread that takes a burst has inserted the values, and is the only one to which mimalloc would return them.
    /// While it was counted on that they come back meanwhile, 15 of 15 processes with values of 1,000 B to 64 KiB were
    /// killed in 256 MiB.
    ///
    /// Nor does it return to them what a thread has inserted that does nothing during the burst: 16 of 24 processes of
    /// two threads were killed while that was counted on.
    @Test(
        .enabled(if: !allocators.isEmpty, "no other allocator is installed"),
        arguments: allocators.keys.sorted().map { ($0, 1) } + (allocators["mimalloc"] == nil ? [] : [("mimalloc", 2)])
    )
    func aBurstWithAnotherAllocator(name: String, threads: Int) throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let outcome = try sandbox.run(
            Self.tool,
            ["memory", "4096", "240", "\(threads)", "burst=24"],
            environment: ["LD_PRELOAD": Self.allocators[name] ?? ""]
        )
        #expect(outcome.exitStatus == 0, "\(outcome)")
        #expect(sandbox.outOfMemoryKills == 0)
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        #expect(report.wrong == 0 && report.allocator == name && report.share > 0.2, "\(outcome)")
    }

    /// What jemalloc and tcmalloc hold free is theirs to tell.
    @Test(
        .enabled(if: !allocators.isEmpty, "no other allocator is installed"),
        arguments: allocators.keys.filter { $0 != "mimalloc" }.sorted()
    )
    func anotherAllocatorIsAsked(name: String) throws {
        var shares: [Double] = []
        // With two threads tcmalloc mostly keeps .5 readable, and in one run of twelve less than .2.
        // Where nobody asked it what lies free, seven runs of eight ended with nothing.
        while shares.count < 3, shares.allSatisfy({ $0 <= 0.2 }) {
            let sandbox = try CgroupSandbox(limitBytes: Self.limit)
            defer { sandbox.remove() }
            let outcome = try sandbox.run(
                Self.tool,
                ["memory", "4096", "384", "2"],
                environment: ["LD_PRELOAD": Self.allocators[name] ?? ""]
            )
            #expect(outcome.exitStatus == 0, "\(outcome)")
            #expect(sandbox.outOfMemoryKills == 0)
            let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
            #expect(report.wrong == 0 && report.allocator == name, "\(outcome)")
            shares.append(report.share)
        }
        #expect(shares.contains { $0 > 0.2 }, "\(shares)")
    }

    @Test(arguments: ["dictionary", "foundation"]) func whatHasNoLimitIsKilled(kind: String) throws {
        let sandbox = try CgroupSandbox(limitBytes: Self.limit)
        defer { sandbox.remove() }
        let outcome = try sandbox.run(Self.tool, [kind, "65536", "384", "1"])
        #expect(outcome.wasKilled, "\(outcome)")
        #expect(sandbox.outOfMemoryKills > 0)
    }
}
