//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import MemoryPressure
import Synchronization

/// How long it takes from pressure to bytes returned, for each way in which the news can come:
///     memory-fill reactions        (inside a memory cgroup of some 256 MiB)
enum ReactionTimes {
    static func run() {
        let manual = ManualPressureSignal()
        signalled("ManualPressureSignal", MemoryPressureMonitor(signals: [manual])) { manual.send(.warning) }

        let fifo = NSTemporaryDirectory() + "memory-fill-\(getpid()).fifo"
        mkfifo(fifo, 0o600)
        let files = SystemFiles(root: "") { $0 == "MEMORY_PRESSURE_WATCH" ? fifo : nil }
        signalled("MEMORY_PRESSURE_WATCH, a FIFO", MemoryPressureMonitor(signals: [SystemPressureSignal(files: files)]))
        {
            let writer = open(fifo, O_WRONLY)
            _ = write(writer, "x", 1)
            close(writer)
        }
        unlink(fifo)

        for megabytesPerSecond in [1000, 3000] { burst(megabytesPerSecond) }
        notified()
    }

    private static let gauge = MemoryGauge()
    private static func now() -> UInt64 { Platform.monotonicNanoseconds() }
    private static func used() -> Int { gauge.read(now: now(), exact: true)?.used ?? 0 }
    private static func milliseconds(_ from: UInt64, _ to: UInt64) -> Double { Double((to - from) / 10_000) / 100 }

    private static func filled(_ monitor: MemoryPressureMonitor, _ bytes: Int) -> MemoryCache<Int, [UInt8]> {
        let cache = MemoryCache<Int, [UInt8]>(options: .init(pressureMonitor: monitor))
        for key in 0..<bytes / 4096 {
            cache.setValue([UInt8](repeating: 1, count: 4096), forKey: key, cost: 4096)
        }
        return cache
    }

    /// From `send` to the entries gone, and to usage down by nine tenths of them.
    private static func signalled(_ name: String, _ monitor: MemoryPressureMonitor, _ send: () -> Void) {
        let cache = filled(monitor, 128 << 20)
        let before = used()
        let held = cache.totalCost
        let begin = now()
        send()
        while cache.totalCost > held * 4 / 5, now() < begin + 5_000_000_000 {}
        let evicted = now()
        let asked = held - cache.totalCost
        while used() > before - asked * 9 / 10, now() < begin + 5_000_000_000 {}
        let returned = now()
        print(
            """
            {"signal": "\(name)", "bytes": \(asked), "evictedMilliseconds": \(milliseconds(begin, evicted)), \
            "returnedMilliseconds": \(milliseconds(begin, returned)), "usageFellBy": \(before - used())}
            """
        )
        withExtendedLifetime(cache) {}
    }

    /// Ordinary memory beside a full cache: from the mark passed to the first entry gone, and to usage back at the
    /// mark.
    private static func burst(_ megabytesPerSecond: Int) {
        let cache = filled(.shared, 190 << 20)
        let evictions = cache.statistics.removals(.memoryPressure)
        let trims = MemoryGovernor.shared.statistics.trims
        let size = 64 << 20
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
        defer { munmap(memory, size) }
        guard let limit = gauge.read(now: now())?.limit else { return }
        let mark = limit - limit / 8
        var passed: UInt64?
        var evicted: UInt64?
        var highest = 0
        let begin = now()
        for mebibyte in 0..<size >> 20 {
            while now() < begin + UInt64(mebibyte) * 1_048_576_000 / UInt64(megabytesPerSecond) {}
            memset(memory + mebibyte << 20, 1, 1 << 20)
            let usage = used()
            highest = max(highest, usage)
            if passed == nil, usage > mark { passed = now() }
            if evicted == nil, cache.statistics.removals(.memoryPressure) > evictions { evicted = now() }
        }
        let deadline = now() + 5_000_000_000
        while used() > mark + limit / 64, now() < deadline {}
        let returned = now()
        let start = passed ?? begin
        print(
            """
            {"signal": "usage watched, \(megabytesPerSecond) MB/s of ordinary memory", \
            "evictedMilliseconds": \(evicted.map { milliseconds(start, max($0, start)) } ?? -1), \
            "returnedMilliseconds": \(milliseconds(start, returned)), \
            "bytes": \((cache.statistics.removals(.memoryPressure) - evictions) * 4096), \
            "highest": \(highest), "used": \(used()), "mark": \(mark), "limit": \(limit), \
            "trims": \(MemoryGovernor.shared.statistics.trims - trims)}
            """
        )
    }

    /// No cache at all: from usage passing 15/16 to the monitor's subscribers.
    private static func notified() {
        let box = Told()
        let observation = MemoryPressureMonitor.shared.observe { level in
            if level > .normal { box.note(now()) }
        }
        guard let limit = gauge.read(now: now(), exact: true)?.limit else { return }
        let size = limit - limit / 24 - used()
        guard size > 0 else { return }
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
        defer { munmap(memory, size) }
        var passed: UInt64?
        for offset in stride(from: 0, to: size - (1 << 20), by: 1 << 20) {
            memset(memory + offset, 1, 1 << 20)
            if passed == nil, used() > limit - limit / 16 { passed = now() }
        }
        let deadline = now() + 5_000_000_000
        while box.at == 0, now() < deadline {}
        observation.cancel()
        guard let passed, box.at > 0 else { return print("{\"signal\": \"levels\", \"notified\": false}") }
        print("{\"signal\": \"levels\", \"notifiedMilliseconds\": \(milliseconds(min(passed, box.at), box.at))}")
    }

    private final class Told: Sendable {
        private let first = Atomic<UInt64>(0)
        func note(_ time: UInt64) { _ = first.compareExchange(expected: 0, desired: time, ordering: .relaxed) }
        var at: UInt64 { first.load(ordering: .relaxed) }
    }
}
