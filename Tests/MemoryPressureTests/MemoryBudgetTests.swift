//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import Testing

private let mebibyte = 1 << 20

/// Trees as real systems have them, read in the system's place.
@Suite struct MemoryBudgetTests {
    struct Expected: Sendable, CustomTestStringConvertible {
        var fixture: String
        var limit: Int?
        var used: Int
        var available: Int
        var testDescription: String { fixture }
    }

    static let expectations = [
        // A container that is the root of all it sees.
        Expected(fixture: "kubernetes-v2", limit: 256 << 20, used: 80 << 20, available: 176 << 20),
        // The pod's 512 MiB bind more tightly than the container's 1 GiB.
        Expected(fixture: "kubernetes-v2-host-tree", limit: 512 << 20, used: 250 << 20, available: 262 << 20),
        // The pod's limit is out of sight but for hierarchical_memory_limit.
        Expected(fixture: "kubernetes-v1", limit: 512 << 20, used: 200 << 20, available: 312 << 20),
        // total_inactive_file, descendants included.
        Expected(fixture: "docker-v1", limit: 256 << 20, used: 68 << 20, available: 188 << 20),
        Expected(fixture: "docker-v2", limit: 512 << 20, used: 70 << 20, available: 442 << 20),
        // memory.high, not memory.max.
        Expected(fixture: "systemd-service", limit: 300 << 20, used: 220 << 20, available: 80 << 20),
        // The parent has 3,000 MiB, but siblings hold most of it.
        Expected(fixture: "hybrid", limit: 2000 << 20, used: 520 << 20, available: 1400 << 20),
        Expected(fixture: "none", limit: 8 << 30, used: 2 << 30, available: 6 << 30),
        Expected(fixture: "address-space", limit: 2 << 30, used: 512 << 20, available: 1536 << 20),
        // memory.max cannot be read, memory.high can; use cannot be told.
        Expected(fixture: "unreadable", limit: 128 << 20, used: 0, available: 128 << 20),
        // All garbage but one ancestor.
        Expected(fixture: "absurd", limit: 64 << 20, used: 16 << 20, available: 48 << 20),
        Expected(fixture: "outside-namespace", limit: 700 << 20, used: 9 << 20, available: 691 << 20),
        Expected(fixture: "blank-in-path", limit: 128 << 20, used: 28 << 20, available: 100 << 20),
        Expected(fixture: "there-is-no-such-system", limit: nil, used: 0, available: .max),
    ]

    static func files(_ fixture: String) throws -> SystemFiles {
        let fixtures = try #require(Bundle.module.resourceURL?.appendingPathComponent("Fixtures"))
        return SystemFiles(root: fixtures.appendingPathComponent(fixture).path)
    }

    @Test(arguments: expectations) func readsTheBudget(_ expected: Expected) throws {
        let budget = MemoryBudget.current(try Self.files(expected.fixture))
        #expect(budget.limitBytes == expected.limit)
        #expect(budget.usedBytes == expected.used)
        #expect(budget.availableBytes == expected.available)
    }

    /// The gauge, which keeps files open and skips some, must say what the plain reading says, but for page cache in
    /// use beyond a sixteenth of the limit.
    @Test(arguments: expectations) func theGaugeAgrees(_ expected: Expected) throws {
        let gauge = MemoryGauge(try Self.files(expected.fixture))
        let reading = gauge.read(now: 1)
        if expected.limit == nil || expected.fixture == "unreadable" || expected.fixture == "hybrid" {
            // Without a usage nothing can be governed: the machine's memory is what is left. And where an ancestor
            // has less room than the least limit leaves, it is the ancestor that governs.
            let other = ["unreadable": 4 << 30, "hybrid": 3000 << 20][expected.fixture]
            #expect(reading?.limit == other)
        } else {
            #expect(reading?.limit == expected.limit)
            let activeFile = ["systemd-service": 1_310_720][expected.fixture] ?? 0
            #expect(reading?.used == expected.used - activeFile)
        }
    }

    @Test func thisProcessHasABudget() {
        let budget = MemoryBudget.current()
        let limit = budget.limitBytes ?? 0
        #expect(limit > 0)
        #expect(budget.usedBytes > 0 && budget.usedBytes <= limit)
        #expect(budget.availableBytes <= limit - budget.usedBytes)
    }

    /// Five levels: each in turn has the least limit, and each in turn is filled by its siblings.
    @Test(arguments: 0..<5, [false, true]) func aLimitAtAnyLevelBinds(level: Int, isFull: Bool) throws {
        let tree = try TemporaryTree()
        defer { tree.remove() }
        try tree.writeCgroupV2(path: "/a/b/c/d/e")
        let directories = ["/a/b/c/d/e", "/a/b/c/d", "/a/b/c", "/a/b", "/a"]
        for (index, directory) in directories.enumerated() {
            let isChosen = index == level
            let limit = isFull ? 1000 : isChosen ? 100 : 1000
            let used = isFull && isChosen ? 990 : 10
            try tree.write("\(limit * mebibyte)", "sys/fs/cgroup\(directory)/memory.max")
            try tree.write("\(used * mebibyte)", "sys/fs/cgroup\(directory)/memory.current")
        }
        let budget = MemoryBudget.current(tree.files)
        #expect(budget.limitBytes == (isFull ? 1000 : 100) * mebibyte)
        #expect(budget.availableBytes == (isFull ? 10 : 90) * mebibyte)
        let reading = try #require(MemoryGauge(tree.files).read(now: 1))
        #expect(reading.limit - reading.used == (isFull ? 10 : 90) * mebibyte)
    }

    /// A machine that is short of memory is the tightest constraint of a small container that is not.
    @Test func theSmallestLimitIsToldBesideTheTightest() throws {
        let tree = try TemporaryTree()
        defer { tree.remove() }
        try tree.writeCgroupV2(path: "/a")
        try tree.write("MemTotal: \(24_000 * 1024) kB\nMemAvailable: \(2_000 * 1024) kB\n", "proc/meminfo")
        try tree.write("\(100 * mebibyte)", "sys/fs/cgroup/a/memory.max")
        try tree.write("\(10 * mebibyte)", "sys/fs/cgroup/a/memory.current")
        let reading = try #require(MemoryGauge(tree.files).read(now: 1))
        #expect(reading.limit == 24_000 * mebibyte && reading.used == 22_000 * mebibyte)
        #expect(reading.leastLimit == 100 * mebibyte)
        try tree.write("max", "sys/fs/cgroup/a/memory.max")
        #expect(try #require(MemoryGauge(tree.files).read(now: 1)).leastLimit == 24_000 * mebibyte)
    }
}
