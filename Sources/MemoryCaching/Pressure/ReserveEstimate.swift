//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure

/// How much memory the caches leave free: what the rest of the process may take at once, less what they can give back
/// while it is taken. A pure value: no lock, no clock, no system call.
///
/// - **Burst**: what is taken in one go, as a picture is decoded or a file read: a quarter of the budget, or what the
///   user says (``MemoryReserve/burstBytes``).
/// - **Release**: a burst takes time, and meanwhile the governor evicts. How fast that gives real memory back is
///   measured in every eviction and trim; 0.6 to 7 MiB/ms by the size of the values. An eighth of it is counted on, and
///   nothing before it is measured. With a quarter, three bursts of 64 MiB killed 9 of 80 processes with values of
///   1,000 B while a suite of tests ran beside them, and with an eighth none of 80; it takes one to two points of the
///   share that can be read.
/// - **In flight**: a value exists before it is charged. Threads that insert large ones have one each in the making.
struct ReserveEstimate: Sendable {
    /// Bytes a nanosecond that a burst takes: memset into fresh pages took 2.3 MB/ms.
    private static let burstSpeed = 2.3e6 / 1e6
    /// Nanoseconds until a burst is noticed at the latest: the longest distance between two looks near the mark (see
    /// ``UsageWatch``), and the 2.5 ms that the first turn took to begin.
    private static let noticeTime = Double(UsageWatch.longestNearMark) + 2.5e6
    /// Nanoseconds for which an insertion of a large value is remembered.
    private static let memory: UInt64 = 1_000_000_000
    /// Nanoseconds of work over which a rate is a mean.
    private static let window = 50e6

    /// Bytes over the nanoseconds that they took, the last of them weighing most.
    private struct Rate {
        var bytes = 0.0
        var nanoseconds = 0.0

        mutating func note(_ bytes: Int, in nanoseconds: UInt64) {
            guard bytes > 0, nanoseconds > 0 else { return }
            self.bytes += Double(bytes)
            self.nanoseconds += Double(nanoseconds)
            if self.nanoseconds > ReserveEstimate.window {
                self.bytes /= 2
                self.nanoseconds /= 2
            }
        }

        /// Nanoseconds a byte; nil before a mebibyte was measured.
        var cost: Double? { bytes < 0x1p20 ? nil : nanoseconds / bytes }
    }

    private struct Inserter {
        var thread: UInt
        var bytes: Int
        var last: UInt64
    }

    /// Whether what one thread evicts comes back though others have allocated it.
    private let countsOnRelease: Bool
    private var evicting = Rate()
    private var returning = Rate()
    private var inserters: [Inserter] = []

    /// Nothing measured yet.
    ///
    /// - Parameter countsOnRelease: whether what the governor's thread evicts comes back while the thread that has
    ///   allocated it does something else.
    init(countsOnRelease: Bool = Platform.allocatorTrimsAllThreads) { self.countsOnRelease = countsOnRelease }

    /// Takes note that an eviction freed `bytes`. What a grant asks for may be a few entries, and takes as long as
    /// asking every shard for its least: that tells nothing of how fast a burst's worth goes.
    mutating func evicted(_ bytes: Int, in nanoseconds: UInt64) {
        if bytes >= 32 << 10 { evicting.note(bytes, in: nanoseconds) }
    }

    /// Takes note that a trim returned `bytes` to the system.
    mutating func returned(_ bytes: Int, in nanoseconds: UInt64) { returning.note(bytes, in: nanoseconds) }

    /// Bytes of real memory a nanosecond that evictions and trims, one after the other, give back; 0 before evictions
    /// are known, and where an allocator returns what another thread has allocated only when that thread comes by.
    /// Trims are rare while a cache fills: until then, 10 MiB/ms, as measured with values of 300 B and more.
    var releaseRate: Double {
        guard countsOnRelease, let evicting = evicting.cost else { return 0 }
        return 1 / (evicting + (returning.cost ?? 0.1))
    }

    /// Takes note that `thread` inserts values of about `bytes`. What is small beside the limit is not worth a note.
    mutating func inserted(_ bytes: Int, by thread: UInt, limit: Int, now: UInt64) {
        guard bytes >= limit / 1024 else { return }
        forget(now)
        if let index = inserters.firstIndex(where: { $0.thread == thread }) {
            inserters[index].bytes = max(bytes, inserters[index].bytes - inserters[index].bytes / 16)
            inserters[index].last = now
        } else if inserters.count < 256 {
            inserters.append(Inserter(thread: thread, bytes: bytes, last: now))
        }
    }

    private mutating func forget(_ now: UInt64) {
        inserters.removeAll { now &- $0.last >= Self.memory }
    }

    /// Bytes that threads may be holding for values on their way in.
    mutating func inFlight(now: UInt64) -> Int {
        if inserters.isEmpty { return 0 }
        forget(now)
        return inserters.reduce(0) { $0 + min($1.bytes, 1 << 40) }
    }

    /// Bytes to leave free below `limit`, where the rest of the process takes `burst` at once: the least reserve at
    /// least, half at most.
    mutating func bytes(limit: Int, burst: Int?, now: UInt64) -> Int {
        let burst = min(max(burst ?? limit / 4, 0), limit / 2)
        let time = max(0, Double(burst) / Self.burstSpeed - Self.noticeTime)
        // Three quarters of a burst are free in any case: a thread that is not scheduled releases nothing. With half,
        // three bursts of 64 MiB beside values of 5 to 20 KB killed 10 of 120 processes in 256 MiB while the compiler
        // ran beside them at times, and 5 of 40 beside a busy loop; so, none of 60 alone and 2 of 40 beside the loop.
        // It takes 5 points of the share that such values can be read of.
        let releasable = min(Int(time * releaseRate / 8), burst / 4)
        let inFlight = inFlight(now: now)
        // Insertions carry usage so far beyond the mark, and what they are granted as far again.
        let unannounced = burst - releasable + 2 * MemoryMarks(limit: limit).play
        let least = MemoryMarks.leastReserve(limit)
        return min(max(least, unannounced, inFlight == 0 ? 0 : inFlight + least), limit / 2)
    }
}
