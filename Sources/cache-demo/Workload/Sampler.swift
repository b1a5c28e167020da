//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc
import MemoryPressure
import PurgeableMemory
import Synchronization

/// Tells the parent ten times a second how the run stands, from a thread of its own: the workers keep Swift's pool
/// busy.
final class Sampler: Sendable {
    /// Ten a second: as often as the view is drawn.
    static let interval = 0.1

    private let meter: Meter
    private let fetcher: any ThumbnailFetcher
    private let pressure: ManualPressure
    private let start = Mutex(ContinuousClock.now)
    private let finished = Mutex(false)

    init(meter: Meter, fetcher: any ThumbnailFetcher, pressure: ManualPressure) {
        self.meter = meter
        self.fetcher = fetcher
        self.pressure = pressure
    }

    func begin(at now: ContinuousClock.Instant) {
        start.withLock { $0 = now }
        Thread.detachNewThread { [self] in
            while tell() { Thread.sleep(forTimeInterval: Self.interval) }
        }
    }

    /// Tells the last figures.
    func finish() { tell(isLast: true) }

    /// Tells the figures, unless the last ones have been told; false then. Under a lock, so that figures that were
    /// taken before the last ones are not told after them.
    @discardableResult
    private func tell(isLast: Bool = false) -> Bool {
        finished.withLock { finished in
            if finished { return false }
            finished = isLast
            report()
            return true
        }
    }

    private func report() {
        var sample = meter.sample
        sample.time = (ContinuousClock.now - start.withLock { $0 }) / .seconds(1)
        let contents = fetcher.contents
        sample.entries = contents.entries
        sample.indexedBytes = contents.bytes
        sample.purgeableBytes = Self.purgeableBytes
        sample.cachedBytes = contents.isPurgeable ? min(contents.bytes, Self.presentBytes(sample)) : contents.bytes
        sample.evictions = contents.evictions
        sample.residentBytes = Self.residentBytes
        sample.level = pressure.monitor.level.name
        // One write a line, below PIPE_BUF (pipe(7)): lines of two threads never mix.
        emit(ChildReport.sample(sample).line + "\n", to: 1)
    }

    /// Bytes of purgeable values that are in memory: what the kernel may still take, and what it may not for now.
    private static func presentBytes(_ sample: Sample) -> Int {
        let usage = PurgeableMemoryUsage.current()
        return sample.purgeableBytes + usage.pinnedBytes + usage.ordinaryBytes
    }

    /// What the kernel may take back of this process without asking, by the kernel's own count (proc(5), smaps_rollup:
    /// "LazyFree", memory marked by madvise(MADV_FREE)), in bytes. What it has taken already does not count.
    private static var purgeableBytes: Int {
        let text = KernelFile.read("/proc/self/smaps_rollup") ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("LazyFree:") {
            return (Int(trimming: String(line.dropFirst("LazyFree:".count))) ?? 0) << 10
        }
        return 0
    }

    /// Resident memory of this process (proc(5), statm: pages, the second field).
    private static var residentBytes: Int {
        let fields = (KernelFile.read("/proc/self/statm") ?? "").split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
