//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import ControlGroups
import Foundation
import Glibc
import MemoryCaching
import MemoryPressure
import PurgeableMemory
import Synchronization

/// All that a run needs to know.
struct RunOrder: Codable, Sendable {
    var contender: Contender
    /// Nil where the run has no cgroup of its own: the parent then says when memory is short (``PressureWarnings``).
    var group: ControlGroup?
    var port: UInt16
    var seed: UInt64
    var seconds: Double
    /// A quarter of the limit: what the library promises that a process with full caches can take at once.
    var burstBytes: Int
}

/// One run, in a child of its own: workers serve the requests through one kind of cache until time is up.
///
/// Every byte that a worker is lent is compared with what the origin made, so a page that the kernel took and that a
/// cache passed on as good shows as a wrong value.
final class Runner: Sendable {
    /// Concurrent requests, and connections.
    static let workers = 8
    /// The burst comes when so much of the run is over, while the neighbour is there, and lasts a twentieth of the run.
    static let burstTime = 0.6
    /// Samples a second: as often as the screen is drawn.
    private static let rate = 10.0

    private let order: RunOrder
    private let fetcher: any Fetcher
    private let requests: Mutex<TraceGenerator>
    private let counts = Mutex(Counts())
    /// Whether the last sample has been told. Samples are told under this lock, so that none comes after the last.
    private let isOver = Mutex(false)
    private let start = ContinuousClock.now

    private struct Counts {
        var sample = Sample()
        var hitTimes = LatencyHistogram()
    }

    init(_ order: RunOrder) {
        self.order = order
        fetcher = order.contender.makeFetcher(Downloader(port: order.port, connections: Self.workers))
        requests = Mutex(Thumbnail.requests(seed: order.seed))
    }

    func run() async {
        Thread.detachNewThread { [self] in waitForParentsEnd() }
        // A thread of its own: the workers keep Swift's pool busy.
        Thread.detachNewThread { [self] in
            while tell() { Thread.sleep(forTimeInterval: 1 / Self.rate) }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await takeBurst() }
            for _ in 0..<Self.workers {
                group.addTask { [self] in
                    repeat { await serve() } while ContinuousClock.now - start < .seconds(order.seconds)
                }
            }
        }
        tell(isLast: true)
    }

    private func serve() async {
        guard let request = requests.withLock({ $0.next() }) else { return }
        let thumbnail = Thumbnail(key: request.key)
        let begun = ContinuousClock.now
        do {
            var isRight = false
            var time = Duration.zero
            let isHit = try await fetcher.withThumbnail(at: thumbnail.path) { bytes in
                // The time to the bytes: checking them is the demo's own work.
                time = ContinuousClock.now - begun
                isRight = thumbnail.isRight(bytes)
            }
            counts.withLock { counts in
                counts.sample.requests += 1
                if !isRight { counts.sample.wrong += 1 }
                if isHit {
                    counts.sample.hits += 1
                    counts.hitTimes.record(time)
                }
            }
        } catch {
            counts.withLock { counts in
                counts.sample.requests += 1
                counts.sample.failures += 1
            }
        }
    }

    /// Takes memory for the process's own work, as a decoder does. Ours announce it: the caches make room first.
    private func takeBurst() async {
        try? await Task.sleep(for: .seconds(order.seconds * Self.burstTime))
        note(.coming)
        if order.contender.isOurs {
            await MemoryReserve.withFree(bytes: order.burstBytes) { freeBytes in
                if freeBytes >= order.burstBytes { await holdBurst() } else { note(.refused) }
            }
        } else {
            await holdBurst()
        }
    }

    private func holdBurst() async {
        let memory = [UInt8](repeating: 0xA5, count: order.burstBytes)
        note(.held)
        try? await Task.sleep(for: .seconds(order.seconds / 20))
        withExtendedLifetime(memory) {}
        note(.over)
    }

    /// Tells the parent at once: this may be the last that it hears.
    private func note(_ burst: Burst) {
        counts.withLock { $0.sample.burst = burst }
        tell()
    }

    /// The end of standard input means that the parent is gone, however it went: then this process goes too.
    private func waitForParentsEnd() -> Never {
        while readLine() != nil {}
        _exit(2)
    }

    /// Tells the parent how the run stands, a line of JSON; false once the last sample has been told.
    @discardableResult
    private func tell(isLast: Bool = false) -> Bool {
        isOver.withLock { isOver in
            if isOver { return false }
            isOver = isLast
            if let line = try? JSONEncoder().encode(sample) { FileHandle.standardOutput.write(line + Data("\n".utf8)) }
            return true
        }
    }

    private var sample: Sample {
        var sample = counts.withLock { counts in
            var sample = counts.sample
            sample.hitNanoseconds = counts.hitTimes.median
            return sample
        }
        sample.time = (ContinuousClock.now - start) / .seconds(1)
        let contents = fetcher.contents
        sample.purgeableBytes = Self.purgeableBytes
        sample.cachedBytes = contents.bytes
        if contents.isPurgeable {
            // A cache learns of bytes that the kernel took when it looks at them. In memory is what the kernel may
            // still take, and what it may not for now.
            let usage = PurgeableMemoryUsage.current()
            sample.cachedBytes = min(
                contents.bytes,
                sample.purgeableBytes + usage.pinnedBytes + usage.ordinaryBytes
            )
        }
        sample.evictions = contents.evictions
        sample.residentBytes = HeapCensus.residentBytes() ?? 0
        sample.level = "\(MemoryPressureMonitor.shared.level)"
        return sample
    }

    /// What the kernel may take back of this process without asking, by the kernel's own count (proc(5), smaps_rollup:
    /// "LazyFree", memory marked by madvise(MADV_FREE)), in bytes. What it has taken already does not count.
    private static var purgeableBytes: Int {
        let text = SystemFiles.system.text("/proc/self/smaps_rollup") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("LazyFree:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}
