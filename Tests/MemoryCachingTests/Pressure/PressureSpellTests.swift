//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What a cache is still good for while a warning lasts, whatever it held when the warning came.
@Suite struct PressureSpellTests {
    /// A machine with `budget` bytes, half of them in use, or one that cannot be read; a process that has in memory
    /// what `cache` holds; and caches that hear of pressure from `signal` alone.
    final class Machine: Sendable {
        let signal = ManualPressureSignal()
        let time = ManualNanoseconds()
        let memory: Resident
        let governor: MemoryGovernor
        let options: MemoryCacheOptions<Int, [UInt8]>
        private let root: URL

        init(budget: Int?) throws {
            root = FileManager.default.temporaryDirectory.appendingPathComponent("machine-\(UUID())")
            let directory = root.appendingPathComponent("proc")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            if let budget {
                let text = "MemTotal: \(budget >> 10) kB\nMemAvailable: \(budget >> 11) kB\n"
                try Data(text.utf8).write(to: directory.appendingPathComponent("meminfo"))
            }
            let monitor = MemoryPressureMonitor(signals: [signal])
            let (time, memory) = (time, Resident())
            self.memory = memory
            governor = MemoryGovernor(
                monitor: monitor,
                gauge: MemoryGauge(SystemFiles(root: root.path)),
                now: { time.now },
                trimAllocator: {},
                takeCensus: { HeapCensus(held: memory.bytes, holes: 0) },
                residentBytes: { memory.bytes }
            )
            governor.adopted()
            options = MemoryCacheOptions(pressureMonitor: monitor)
        }

        deinit { try? FileManager.default.removeItem(at: root) }
    }

    /// What is resident: never less than there was, as where an allocator keeps what is free.
    final class Resident: Sendable {
        private let most = Atomic(10 << 20)
        var bytes: Int { most.load(ordering: .relaxed) }
        func note(entries: Int) { most.max(10 << 20 + entries * 1072, ordering: .relaxed) }
    }

    static let bytes = 1000

    struct Spell: Sendable, CustomTestStringConvertible {
        var held: Int
        var budget: Int?
        var givesCosts: Bool
        var isSlow: Bool
        var warnings = 1

        var testDescription: String {
            let filling = "filled \(isSlow ? "slowly" : "fast") \(givesCosts ? "with" : "without") costs"
            let budget = budget.map { "\($0 >> 20) MiB" } ?? "unknown"
            return "\(held) entries, \(filling), \(warnings) warnings, budget \(budget)"
        }

        /// Some two and a half times what the floor has room for, so that the ceiling is met whatever was held before.
        var insertions: Int { 5 * PressureEpisode.floor(budget: budget) / (2 * PressureSpellTests.bytes) }

        static let all = [0, 1, 10, 100, 2000].flatMap { held in
            [false, true].flatMap { givesCosts in
                [
                    Spell(held: held, budget: nil, givesCosts: givesCosts, isSlow: false),
                    Spell(held: held, budget: nil, givesCosts: givesCosts, isSlow: true),
                    Spell(held: held, budget: nil, givesCosts: givesCosts, isSlow: false, warnings: 60),
                    Spell(held: held, budget: 384 << 20, givesCosts: givesCosts, isSlow: held % 100 == 0),
                ]
            }
        }
    }

    @Test(arguments: Spell.all) func aValueJustSetIsInAndTheCacheStaysUseful(spell: Spell) throws {
        let machine = try Machine(budget: spell.budget)
        let cache = MemoryCache<Int, [UInt8]>(options: machine.options)
        func insert(_ key: Int) {
            let value = [UInt8](repeating: 1, count: Self.bytes)
            cache.setValue(value, forKey: key, cost: spell.givesCosts ? Self.bytes : 0)
            if key % 16 == 0 { machine.memory.note(entries: cache.count) }
            if spell.isSlow { machine.time.advance(10_000_000) }
        }
        for key in 0..<spell.held { insert(key) }
        for _ in 0..<spell.warnings {
            machine.signal.send(.warning)
            machine.time.advance(1_000_000_000)
        }
        var missing = 0
        var most = 0
        for key in 10_000..<(10_000 + spell.insertions) {
            insert(key)
            if cache[key] == nil { missing += 1 }
            if key % 16 == 0 { most = max(most, cache.count) }
        }
        #expect(missing == 0)

        let floor = PressureEpisode.floor(budget: spell.budget)
        let ceiling = max(spell.warnings == 1 ? spell.held * Self.bytes * 3 / 4 : 0, floor)
        #expect(cache.count * Self.bytes >= ceiling / 2, "\(cache.count) entries")
        // The header of an array, the slot and the ceiling's own coarseness beside the 1,000 bytes.
        #expect(most * Self.bytes <= ceiling * 9 / 8, "\(most) entries")
        withExtendedLifetime(machine) {}
    }

    /// Sizes are learned while the part of a level is evicted, a quarter of the entries at a time. Taken in bytes of
    /// before, the rest was all that the cache held.
    @Test(arguments: [500, 5000, 30_000]) func aLevelLeavesItsPartOfTheEntries(held: Int) throws {
        let machine = try Machine(budget: nil)
        let cache = MemoryCache<Int, [UInt8]>(options: machine.options)
        for key in 0..<held {
            cache[key] = [UInt8](repeating: 1, count: Self.bytes)
            if key % 16 == 0 { machine.memory.note(entries: cache.count) }
        }
        for (level, part) in [(MemoryPressureLevel.warning, 0.75), (.critical, 0.25)] {
            let before = cache.count
            machine.signal.send(level)
            let expected = Double(before) * part
            #expect(abs(Double(cache.count) - expected) < expected / 16 + 2, "\(level): \(cache.count) of \(before)")
        }
        withExtendedLifetime(machine) {}
    }

    /// Four threads on as many shards, each with a credit of its own, keep the ceiling too.
    @Test func manyThreadsStayBelowTheCeiling() async throws {
        let machine = try Machine(budget: 384 << 20)
        let cache = MemoryCache<Int, [UInt8]>(options: machine.options)
        let ceiling = PressureEpisode.floor(budget: 384 << 20)
        cache.setValue([1], forKey: -1, cost: 1)
        machine.signal.send(.warning)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for key in 0..<4_000 {
                        cache.setValue([1], forKey: thread << 32 | key, cost: Self.bytes)
                        #expect(cache.totalCost <= ceiling * 5 / 4)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(cache.totalCost >= ceiling / 2)
        withExtendedLifetime(machine) {}
    }

    @Test func whatAWarningEvictedDoesNotComeBackBeforeItIsOver() throws {
        let machine = try Machine(budget: 64 << 20)
        let cache = MemoryCache<Int, [UInt8]>(options: machine.options)
        for key in 0..<4000 { cache.setValue([1], forKey: key, cost: 1000) }
        machine.signal.send(.warning)
        #expect(cache.totalCost == 3_000_000)
        for key in 4000..<40_000 {
            cache.setValue([1], forKey: key, cost: 1000)
            // What is granted in one go, and what may be inserted before the next measurement.
            #expect(cache.totalCost <= 3_000_000 * 9 / 8)
        }
        #expect(cache[39_999] == [1])
        #expect(cache.totalCost >= 3_000_000 / 2)
        machine.signal.send(.normal)
        for key in 0..<4000 { cache.setValue([1], forKey: key, cost: 1000) }
        #expect(cache.totalCost > 4_000_000)
    }
}
