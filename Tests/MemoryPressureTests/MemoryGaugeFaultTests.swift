//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing

/// What can go wrong with the files that the budget is read from.
@Suite struct MemoryGaugeFaultTests {
    let tree: TemporaryTree
    let gauge: MemoryGauge

    init() throws {
        tree = try TemporaryTree()
        try tree.writeCgroupV2(path: "/app")
        try tree.write("104857600", "sys/fs/cgroup/app/memory.max")
        try tree.write("52428800", "sys/fs/cgroup/app/memory.current")
        try tree.write("anon 1\ninactive_file 10485760\n", "sys/fs/cgroup/app/memory.stat")
        gauge = MemoryGauge(tree.files)
    }

    @Test func readsTheCgroup() {
        #expect(gauge.read(now: 1) == .init(limit: 100 << 20, used: 40 << 20, correction: 1))
    }

    @Test func aChangedUsageIsSeenAtOnce() throws {
        _ = gauge.read(now: 1)
        try tree.write("62914560", "sys/fs/cgroup/app/memory.current")
        #expect(gauge.read(now: 2)?.used == 50 << 20)
    }

    @Test func aChangedLimitIsSeenWithinASecondEvenBelowUsage() throws {
        _ = gauge.read(now: 1)
        try tree.write("20971520", "sys/fs/cgroup/app/memory.max")
        #expect(gauge.read(now: 2)?.limit == 100 << 20)
        let reading = try #require(gauge.read(now: 1_000_000_001))
        #expect(reading.limit == 20 << 20 && reading.used == 40 << 20 && reading.untilMark < -(20 << 20))
    }

    @Test func inactiveFileIsReadAgainNearTheMarkOrWhenAskedFor() throws {
        _ = gauge.read(now: 1)
        try tree.write("inactive_file 0\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 2)?.used == 40 << 20)
        #expect(gauge.read(now: 3, exact: true)?.used == 50 << 20)
        try tree.write("inactive_file 5242880\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 40_000_000)?.used == 50 << 20)
        #expect(gauge.read(now: 60_000_000)?.used == 45 << 20)
    }

    /// `usage` cannot pass the limit: with page cache up to there an old figure would hide how much of it is left.
    @Test func filePagesAreReadAgainAtOnceWhereTheyFillTheLimit() throws {
        try tree.write("104857600", "sys/fs/cgroup/app/memory.current")
        try tree.write("inactive_file 62914560\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 1)?.used == 40 << 20)
        try tree.write("inactive_file 10485760\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 2)?.used == 90 << 20)
    }

    @Test func pageCacheInUseCountsUpToASixteenthOfTheLimit() throws {
        try tree.write("anon 1\ninactive_file 0\nactive_file 41943040\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 1)?.used == 50 << 20 - (40 << 20 - (100 << 20) / 16))
        try tree.write("anon 1\ninactive_file 0\nactive_file 1048576\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 2, exact: true)?.used == 50 << 20)
    }

    @Test func pinnedBytesAreNoneThatTheKernelTakes() throws {
        let pinned = MemoryGauge(tree.files, pinnedBytes: { 4 << 20 })
        #expect(pinned.read(now: 1)?.used == 44 << 20)
        let more = MemoryGauge(tree.files, pinnedBytes: { 400 << 20 })
        #expect(more.read(now: 1)?.used == 50 << 20)
    }

    @Test func whenTheCgroupVanishesTheMachineGoverns() throws {
        _ = gauge.read(now: 1)
        try tree.delete("sys/fs/cgroup/app")
        // The files stay open, as those of a removed cgroup do; reading them again by name is what shows it.
        #expect(gauge.read(now: 1_000_000_001)?.limit == 16 << 30)
    }

    @Test func garbageInUsageLetsTheRestGovern() throws {
        _ = gauge.read(now: 1)
        try tree.write("much", "sys/fs/cgroup/app/memory.current")
        #expect(gauge.read(now: 2)?.limit == 16 << 30)
        try tree.write("52428800", "sys/fs/cgroup/app/memory.current")
        #expect(gauge.read(now: 1_000_000_003)?.limit == 100 << 20)
    }

    @Test func garbageInStatisticsCountsAsNothingInactive() throws {
        try tree.write("inactive_file\n\n\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 1)?.used == 50 << 20)
    }

    /// For the sake of RLIMIT_AS and RLIMIT_DATA the kernel takes no pages.
    @Test func saysWhetherTheNearestLimitCountsWhatIsMapped() throws {
        let before = try #require(gauge.read(now: 1))
        #expect(!before.countsMapped && !before.isMappingLimited)
        try tree.write(
            "Max address space         209715200            unlimited            bytes\n",
            "proc/self/limits"
        )
        try tree.write("\(20 << 20 / Platform.pageSize) 100 0 0 0 0 0\n", "proc/self/statm")
        let far = try #require(gauge.read(now: 2_000_000_000))
        #expect(far.limit == 100 << 20 && !far.countsMapped && far.isMappingLimited)
        try tree.write("\(180 << 20 / Platform.pageSize) 100 0 0 0 0 0\n", "proc/self/statm")
        let near = try #require(gauge.read(now: 3_000_000_000))
        #expect(near.limit == 200 << 20 && near.countsMapped && near.isMappingLimited)
    }

    @Test func nothingReadableIsNoReading() throws {
        _ = gauge.read(now: 1)
        try tree.delete("sys/fs/cgroup/app")
        try tree.delete("proc/meminfo")
        #expect(gauge.read(now: 1_000_000_001) == nil)
    }

    @Test func aClockThatJumpsBackReadsEverythingAgain() throws {
        _ = gauge.read(now: 5_000_000_000)
        try tree.write("20971520", "sys/fs/cgroup/app/memory.max")
        try tree.write("inactive_file 0\n", "sys/fs/cgroup/app/memory.stat")
        #expect(gauge.read(now: 1) == .init(limit: 20 << 20, used: 50 << 20, correction: 2))
    }

    @Test func aMovedProcessIsFollowed() throws {
        _ = gauge.read(now: 1)
        try tree.write("209715200", "sys/fs/cgroup/other/memory.max")
        try tree.write("1048576", "sys/fs/cgroup/other/memory.current")
        try tree.write("0::/other\n", "proc/self/cgroup")
        #expect(gauge.read(now: 60_000_000)?.limit == 200 << 20)
    }
}
