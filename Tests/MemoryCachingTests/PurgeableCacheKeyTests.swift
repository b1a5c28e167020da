//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing

@testable import MemoryCaching

@Suite("PurgeableCache: kinds of keys")
struct PurgeableCacheKeyTests {
    /// Calls `body` with what looks for `key` among `slots`, in whose first slot `stored` is.
    private func withMatching<Key: Hashable & Sendable, R>(
        _ stored: Key,
        _ key: Key,
        _ body: (KeyMatching) -> R
    ) -> R {
        let slots = KeySlots<Key>()
        withUnsafePointer(to: stored) { slots.put(UnsafeRawPointer($0), shard: 0, slot: 0) }
        let result = withUnsafePointer(to: key) { pointer in
            let matching = KeyMatching(
                UnsafeRawPointer(pointer),
                in: slots,
                word: 1,
                isHarmless: KeyHash.isHarmless(key)
            )
            return body(matching)
        }
        var bag: [Any] = []
        slots.moveOut(shard: 0, slot: 0, into: &bag)
        #expect(bag.count == 1 && bag.first as? Key == stored)
        return result
    }

    /// What is known of a stored key, which is equal to the one looked for, while the lock is held.
    private func verdictUnderLock<Key: Hashable & Sendable>(_ stored: Key, _ key: Key) -> KeyVerdict {
        withMatching(stored, key) { matching in
            matching.beginRound()
            let verdict = matching.verdict(shard: 0, slot: 0)
            if verdict == .unknown {
                matching.decide()
                matching.beginRound()
                #expect(matching.verdict(shard: 0, slot: 0) == .equal)
            }
            return verdict
        }
    }

    @Test("Only what is harmless and short is compared under the lock")
    func comparisons() {
        struct Own: Hashable { let number: Int }
        let (short, long) = (TextComparison.longest, TextComparison.longest + 1)
        #expect(verdictUnderLock(String(repeating: "a", count: short), String(repeating: "a", count: short)) == .equal)
        #expect(verdictUnderLock(String(repeating: "a", count: long), String(repeating: "a", count: long)) == .unknown)
        #expect(verdictUnderLock("e\u{301}", "\u{E9}") == .equal)
        #expect(verdictUnderLock(Duration.seconds(1), .seconds(1)) == .equal)
        #expect(verdictUnderLock(Int128.max, .max) == .equal)
        #expect(verdictUnderLock(Own(number: 1), Own(number: 1)) == .unknown)
    }

    @Test("Looking again and again without a comparison ends no search")
    func roundsWithoutComparisons() {
        struct Own: Hashable { let number: Int }
        let verdict = withMatching(Own(number: 1), Own(number: 1)) { matching in
            for _ in 0..<2 * KeyHash<Own>.comparisonRounds { matching.beginRound() }
            return matching.verdict(shard: 0, slot: 0)
        }
        #expect(verdict == .unknown)
    }

    /// A key's own value stays while others make room for its new one, also where all of them have one hash.
    @Test("An update that needs room sees what it changes, among keys that collide", arguments: 0..<9)
    func updatesAmongCollisions(number: Int) {
        struct Colliding: Hashable, Sendable {
            let number: Int
            func hash(into hasher: inout Hasher) {}
        }
        let cache = PurgeableCache<Colliding>(totalCostLimit: 100_000)
        for other in 0..<9 { cache.setBytes([UInt8](repeating: 1, count: 11_000), forKey: Colliding(number: other)) }
        for count in [30_000, 65_537, 90_000] {
            var seen: [Int?] = []
            cache.updateBytes(forKey: Colliding(number: number)) { bytes in
                seen.append(bytes?.count)
                bytes = [UInt8](repeating: 2, count: count)
            }
            #expect(seen == [[30_000: 11_000, 65_537: 30_000, 90_000: 65_537][count]])
            #expect(cache.bytes(forKey: Colliding(number: number)) == [UInt8](repeating: 2, count: count))
            #expect(cache.totalCost <= 100_000)
        }
    }

    private func checkAll<Key: FixedWidthInteger & Sendable>(of _: Key.Type, _ keys: [Key]) {
        #expect(KeyedStore<Key>.makeKeyStorage() == nil, "\(Key.self) keys need no storage")
        let told = Mutex<Set<Key>>([])
        let cache = PurgeableCache<Key>(
            options: .init(removalHandler: { key, _, _ in told.withLock { _ = $0.insert(key) } })
        )
        for key in keys { cache.setBytes([UInt8(truncatingIfNeeded: key)], forKey: key) }
        #expect(cache.count == keys.count)
        for key in keys { #expect(cache.bytes(forKey: key) == [UInt8(truncatingIfNeeded: key)]) }
        #expect(Set(cache.entries().map(\.key)) == Set(keys))
        cache.removeAll()
        #expect(told.withLock { $0 } == Set(keys))
    }

    @Test("Integers of every width are found, listed and told of as what they are")
    func integers() {
        checkAll(of: Int8.self, Array(.min ... .max))
        checkAll(of: UInt8.self, Array(.min ... .max))
        checkAll(of: Int16.self, [.min, -1, 0, 1, .max])
        checkAll(of: UInt16.self, [0, 1, .max])
        checkAll(of: Int32.self, [.min, -1, 0, 1, .max])
        checkAll(of: UInt32.self, [0, 1, .max])
        checkAll(of: Int64.self, [.min, -1, 0, 1, .max])
        checkAll(of: UInt64.self, [0, 1, .max])
        checkAll(of: Int.self, [.min, -1, 0, 1, .max])
        checkAll(of: UInt.self, [0, 1, .max])
    }
}
