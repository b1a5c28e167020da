//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Purgeable bytes below a limit that counts what is mapped: the kernel takes no pages for its sake.
@Suite struct PurgeableCacheMappingTests {
    /// A process that may map so much, and in which the pages of the caches are what is mapped.
    private final class Process: Sendable {
        static let limit = 64 << 20
        static let others = 8 << 20
        /// What is mapped beside the caches.
        let others = Atomic(Process.others)
        let faults = FaultySystem()
        let time = ManualNanoseconds()
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let governor: MemoryGovernor
        private let writing = Mutex(())
        private let root = FileManager.default.temporaryDirectory.appendingPathComponent("mapping-\(UUID())")

        init() throws {
            faults.limitMapping()
            // Volatile as the caches see it, but nothing is taken: what the machine is short of is none of this.
            faults.refuse(.free, with: 0)
            try FileManager.default.createDirectory(
                at: root.appendingPathComponent("proc/self"),
                withIntermediateDirectories: true
            )
            let limits = "Max address space         \(Self.limit)            unlimited            bytes\n"
            try Data(limits.utf8).write(to: root.appendingPathComponent("proc/self/limits"))
            try Data().write(to: root.appendingPathComponent("proc/self/statm"))
            governor = MemoryGovernor(
                monitor: monitor,
                gauge: MemoryGauge(SystemFiles(root: root.path)),
                now: { [time] in time.now },
                trimAllocator: {},
                takeCensus: { nil },
                residentBytes: { nil }
            )
            governor.adopted()
            try goOn()
        }

        deinit { try? FileManager.default.removeItem(at: root) }

        func cache<Key: Hashable & Sendable>(
            of keys: Key.Type,
            handler: (@Sendable (Key, [UInt8], RemovalCause) -> Void)? = nil
        ) -> PurgeableCache<Key> {
            let options = MemoryCacheOptions<Key, [UInt8]>(removalHandler: handler, pressureMonitor: monitor)
            return PurgeableCache<Key>(options: options, system: system, governor: governor)
        }

        /// Whoever maps or unmaps changes what statm says, as in the kernel.
        private var system: PageSystem {
            var system = faults.system
            let (map, unmap) = (system.map, system.unmap)
            system.map = { [self] byteCount in
                defer { try? writeUsage() }
                return map(byteCount)
            }
            system.unmap = { [self] base, byteCount in
                defer { try? writeUsage() }
                return unmap(base, byteCount)
            }
            return system
        }

        /// In place: the gauge keeps the file open.
        private func writeUsage() throws {
            try writing.withLock { _ in
                let pages = (faults.mappedByteCount + others.load(ordering: .relaxed)) / Platform.pageSize
                let file = try FileHandle(forWritingTo: root.appendingPathComponent("proc/self/statm"))
                try file.write(contentsOf: Data("\(pages) 100 0 0 0 \(pages) 0           \n".utf8))
                try file.close()
            }
        }

        /// 5 ms pass.
        func goOn() throws {
            try writeUsage()
            time.advance(5_000_000)
        }
    }

    private func fill<Key: Hashable & Sendable>(
        _ cache: PurgeableCache<Key>,
        in process: Process,
        size: Int,
        key: (Int) -> Key
    ) throws -> Int {
        let step = max(1, (1 << 20) / size)
        let count = (160 << 20) / size / step * step
        var highest = 0
        for number in 0..<count {
            #expect(cache.setBytes(bytes(of: number, count: size), forKey: key(number)))
            if number % step == step - 1 {
                highest = max(highest, process.faults.mappedByteCount)
                try process.goOn()
                for recent in max(0, number - 3)...number where cache.bytes(forKey: key(recent)) == nil {
                    Issue.record("\(recent) of \(number) is gone")
                }
            }
        }
        // The governor's thread may still be making room.
        var held = -1
        for _ in 0..<100 where cache.count != held {
            held = (0..<count).count { number in
                guard let found = cache.bytes(forKey: key(number)) else { return false }
                #expect(found == bytes(of: number, count: size))
                return true
            }
        }
        #expect(cache.count == held)
        #expect(highest + Process.others <= Process.limit * 15 / 16, "\(highest) bytes were mapped")
        return held * size
    }

    @Test(arguments: [300, 16_384, 100_000, 2 << 20]) func aFillStaysBelowTheLimit(size: Int) throws {
        let process = try Process()
        let held = try fill(process.cache(of: Int.self), in: process, size: size) { $0 }
        #expect(held >= Process.limit / 4, "\(held) bytes are readable")
    }

    @Test func textKeysToo() throws {
        let process = try Process()
        let held = try fill(process.cache(of: String.self), in: process, size: 1000) { "key \($0)" }
        #expect(held >= Process.limit / 4, "\(held) bytes are readable")
    }

    @Test(arguments: [1000, 100_000]) func theHandlerHearsOfAllThatGoes(size: Int) throws {
        let process = try Process()
        let told = Mutex((count: 0, wrong: 0))
        let cache = process.cache(of: Int.self) { key, found, cause in
            told.withLock { told in
                told.count += 1
                if found != bytes(of: key, count: size) || cause != .memoryPressure { told.wrong += 1 }
            }
        }
        _ = try fill(cache, in: process, size: size) { $0 }
        #expect(told.withLock { $0.count } == cache.statistics.insertions - cache.count)
        #expect(told.withLock { $0.wrong } == 0)
    }

    /// Each new value of a key is mapped beside the old one until the old one's segment is emptied.
    @Test(arguments: [1000, 100_000]) func replacementsStayBelowTheLimit(size: Int) throws {
        let process = try Process()
        let cache = process.cache(of: Int.self)
        let keys = (10 << 20) / size
        for number in 0..<(200 << 20) / size {
            #expect(cache.setBytes(bytes(of: number, count: size), forKey: number % keys))
            if number % max(1, (1 << 20) / size) == 0 { try process.goOn() }
            if process.faults.mappedByteCount + Process.others > Process.limit * 15 / 16 {
                Issue.record("\(process.faults.mappedByteCount) bytes are mapped")
                break
            }
        }
        #expect(cache.count == keys)
    }

    @Test(arguments: [1000, 100_000]) func newcomersComeInAgainWhereOthersHaveTakenTheRest(size: Int) throws {
        let process = try Process()
        let cache = process.cache(of: Int.self)
        for key in 0..<(8 << 20) / size { cache.setBytes(bytes(of: key, count: size), forKey: key) }
        let mapped = process.faults.mappedByteCount
        process.faults.limitMapping(to: mapped)
        var key = 1_000_000
        while cache.setBytes(bytes(of: key, count: size), forKey: key), key < 1_010_000 { key += 1 }
        #expect(key < 1_010_000, "nothing was refused, though there is nothing to map")
        process.others.store(Process.limit - mapped, ordering: .relaxed)
        try process.goOn()
        let stored = (0..<100).count { cache.setBytes(bytes(of: $0, count: size), forKey: $0) }
        #expect(stored >= 90, "\(stored) of 100 were stored")
    }

    /// Who looks after the cache may not run for long. The others evict meanwhile, else they fill all that may be mapped.
    @Test(arguments: [1000, 100_000]) func nobodyWaitsForWhoLooksAfterTheCache(size: Int) throws {
        let process = try Process()
        let cache = process.cache(of: Int.self)
        let step = max(1, (1 << 20) / size)
        cache.store.maintenance.alone {
            for key in 0..<(160 << 20) / size {
                _ = cache.setBytes([UInt8](repeating: 1, count: size), forKey: key)
                if key % step == 0 { try? process.goOn() }
            }
        }
        #expect(process.faults.mappedByteCount + Process.others <= Process.limit * 15 / 16)
        #expect(cache.totalCost >= Process.limit / 8, "\(cache.totalCost) bytes are held")
    }

    /// What leaves is not what lies together: with regions that 40 values shared, nothing that left made usage fall, and
    /// the cache was emptied.
    @Test(arguments: [4096...40_000, 66_000...900_000]) func valuesOfAllSizesAndAgesStay(sizes: ClosedRange<Int>) throws
    {
        let process = try Process()
        let cache = process.cache(of: Int.self)
        var random = SplitMix64(seed: 1)
        var written = 0
        var held = 0
        while written < 300 << 20 {
            let size = Int.random(in: sizes, using: &random)
            // Far more keys than there is room for, and some come again.
            let key = Int.random(in: 0..<(200 << 20) / (sizes.upperBound / 2), using: &random)
            #expect(cache.setBytes([UInt8](repeating: 1, count: size), forKey: key))
            let isStep = written >> 20 != (written + size) >> 20
            written += size
            guard isStep else { continue }
            try process.goOn()
            if written > 100 << 20 { held += cache.totalCost / 200 }
        }
        // For a moment it may be little: a whole reserve is made free at once where values have grown.
        #expect(held >= Process.limit / 8, "\(held) bytes were held on average")
    }

    /// No look is due because time has passed.
    @Test(arguments: [1000, 100_000], [false, true]) func inNoTimeTheLimitHoldsToo(size: Int, replaces: Bool) throws {
        let process = try Process()
        let cache = process.cache(of: Int.self)
        let value = bytes(of: 1, count: size)
        let keys = 0..<(160 << 20) / size
        if replaces { for key in keys { cache.setBytes([1], forKey: key) } }
        for key in keys {
            #expect(cache.setBytes(value, forKey: key))
            guard key % 50 == 0, process.faults.mappedByteCount + Process.others > Process.limit * 15 / 16 else {
                continue
            }
            Issue.record("\(process.faults.mappedByteCount) bytes are mapped")
            break
        }
    }

    /// A value in ordinary memory.
    private final class Value: Sendable {
        let process: Process
        init(_ process: Process) {
            self.process = process
            process.others.add(1000, ordering: .relaxed)
        }
        deinit { process.others.subtract(1000, ordering: .relaxed) }
    }

    @Test func objectsAndBytesShareToo() throws {
        let process = try Process()
        let objects = MemoryCache<Int, Value>(options: .init(pressureMonitor: process.monitor))
        let bytes = process.cache(of: Int.self)
        let content = [UInt8](repeating: 1, count: 1000)
        var held = [0, 0]
        for number in 0..<150_000 {
            objects.setValue(Value(process), forKey: number, cost: 1000)
            bytes.setBytes(content, forKey: number)
            guard number % 500 == 499 else { continue }
            try process.goOn()
            if number >= 100_000 {
                held[0] += objects.count / 100
                held[1] += bytes.count / 100
            }
        }
        // What each holds hangs on how sizes are counted; neither lives on what the other leaves.
        #expect(held.min()! >= held.max()! / 8, "\(held)")
        // The process keeps its governor, which knows the cache, and its values the process.
        objects.removeAll()
    }

    @Test func cachesShareAndNoneIsEmptied() throws {
        let process = try Process()
        let caches = (0..<2).map { _ in process.cache(of: Int.self) }
        // Whole segments go, by chance: the mean of many moments tells.
        var held = [0, 0]
        for number in 0..<200_000 {
            for cache in caches { cache.setBytes(bytes(of: number, count: 1000), forKey: number) }
            guard number % 500 == 499 else { continue }
            try process.goOn()
            if number >= 100_000 { for index in caches.indices { held[index] += caches[index].count / 200 } }
        }
        #expect(held.reduce(0, +) >= Process.limit / 8 / 1000, "\(held)")
        #expect(held.min()! >= held.max()! / 4, "\(held)")
        // One that nobody fills any more makes room for the other.
        for number in 200_000..<350_000 {
            caches[0].setBytes(bytes(of: number, count: 1000), forKey: number)
            if number % 1000 == 999 { try process.goOn() }
        }
        let left = caches.map(\.count)
        #expect(left[1] < held[1] / 2 && left[0] > 2 * left[1], "\(held), and then \(left)")
    }
}
