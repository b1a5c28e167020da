//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ForkSafety
import Synchronization
import Testing

@testable import MemoryCaching

private let living = Atomic<Int>(0)

/// A key that is counted while it lives, hashes badly, and uses the cache whenever it is hashed, compared or destroyed.
private final class MeddlingKey: Hashable, Sendable {
    static let cache = Mutex<PurgeableCache<MeddlingKey>?>(nil)
    let number: Int
    init(_ number: Int) {
        self.number = number
        living.wrappingAdd(1, ordering: .relaxed)
    }
    deinit {
        living.wrappingSubtract(1, ordering: .relaxed)
        Self.meddle()
    }
    static func meddle() {
        // A deadlock here would be a lock held over user code.
        if let cache = cache.withLock({ $0 }) {
            _ = cache.count
            cache.trim(toCount: 1000)
        }
    }
    static func == (left: MeddlingKey, right: MeddlingKey) -> Bool {
        meddle()
        return left.number == right.number
    }
    func hash(into hasher: inout Hasher) {
        Self.meddle()
        hasher.combine(number % 5)
    }
}

/// A key, of the same hash as all others or not, which does something once when it is compared.
private struct ChangingKey: Hashable, Sendable {
    static let onComparison = Mutex<(@Sendable () -> Void)?>(nil)
    let number: Int
    let collides: Bool
    init(_ number: Int, collides: Bool = true) {
        self.number = number
        self.collides = collides
    }
    func hash(into hasher: inout Hasher) { if !collides { hasher.combine(number) } }
    static func == (left: ChangingKey, right: ChangingKey) -> Bool {
        let change = onComparison.withLock { change in
            defer { change = nil }
            return change
        }
        change?()
        return left.number == right.number
    }
}

extension PurgeableCache<ChangingKey> {
    /// Removes a key and sets it anew, and another one in its old place.
    fileprivate func change(_ number: Int) {
        removeBytes(forKey: ChangingKey(number))
        removeBytes(forKey: ChangingKey(number + 1))
        setBytes([UInt8(number + 1)], forKey: ChangingKey(number + 1))
        setBytes([UInt8(number)], forKey: ChangingKey(number))
    }
}

@Suite(.serialized) struct PurgeableCacheUserCodeTests {
    enum Use: CaseIterable { case reading, lending, asking, replacing, updating, removing }

    /// It was inside the log's gate, so no segment was filled again until it ended.
    @Test(arguments: Use.allCases) func aComparisonThatTakesLongKeepsNoPagesFromBeingUsedAgain(use: Use) {
        let cache = PurgeableCache<ChangingKey>(totalCostLimit: 8 << 20)
        let key = ChangingKey(0, collides: false)
        cache.setBytes([1, 2, 3], forKey: key)
        ChangingKey.onComparison.withLock {
            $0 = {
                for number in 1...8000 {
                    cache.setBytes([UInt8](repeating: 1, count: 10_000), forKey: ChangingKey(number, collides: false))
                }
            }
        }
        switch use {
        case .reading: _ = cache.bytes(forKey: key)
        case .lending: _ = cache.withBytes(forKey: key) { _ in }
        case .asking: _ = cache.contains(key)
        case .replacing: cache.setBytes([4], forKey: key)
        case .updating: cache.updateBytes(forKey: key) { $0 = [5] }
        case .removing: cache.removeBytes(forKey: key)
        }
        #expect(ChangingKey.onComparison.withLock { $0 == nil })
        let segments = cache.store.log.state.withLock { $0.histories.count }
        #expect(segments <= 32, "80 MB went through a cache of 8")
        #expect(cache.bytes(forKey: ChangingKey(8000, collides: false)) != nil)
    }

    @Test(.timeLimit(.minutes(10))) func keysMayUseTheCacheWheneverTheyRun() {
        let cache = PurgeableCache<MeddlingKey>(countLimit: 20)
        MeddlingKey.cache.withLock { $0 = cache }
        for round in 0..<3 {
            for number in 0..<40 { cache.setBytes([UInt8(number), UInt8(round)], forKey: MeddlingKey(number)) }
            for number in 0..<40 {
                if let found = cache.bytes(forKey: MeddlingKey(number)) { #expect(found[0] == UInt8(number)) }
            }
            #expect(cache.count == 20)
            #expect(cache.removeBytes(forKey: MeddlingKey(39)))
            #expect(!cache.contains(MeddlingKey(39)))
        }
        #expect(living.load(ordering: .relaxed) == cache.count)
        cache.removeAll()
        #expect(living.load(ordering: .relaxed) == 0, "removed keys are destroyed")
        cache.setBytes([1], forKey: MeddlingKey(1))
        MeddlingKey.cache.withLock { $0 = nil }
    }

    @Test func keysGoWithTheCache() {
        do {
            let cache = PurgeableCache<MeddlingKey>()
            for number in 0..<50 { cache.setBytes([1], forKey: MeddlingKey(number)) }
            #expect(living.load(ordering: .relaxed) == 50)
        }
        #expect(living.load(ordering: .relaxed) == 0)
    }

    /// Two keys with one hash each, set and removed by turns: never the other's bytes.
    @Test func equalHashesAreNotEqualKeys() {
        struct Same: Hashable, Sendable {
            let number: Int
            func hash(into hasher: inout Hasher) {}
        }
        let cache = PurgeableCache<Same>()
        for number in 0..<50 { cache.setBytes([UInt8(number)], forKey: Same(number: number)) }
        for number in 0..<50 { #expect(cache.bytes(forKey: Same(number: number)) == [UInt8(number)]) }
        for number in stride(from: 0, to: 50, by: 2) { #expect(cache.removeBytes(forKey: Same(number: number))) }
        for number in 0..<50 {
            #expect(cache.bytes(forKey: Same(number: number)) == (number % 2 == 0 ? nil : [UInt8(number)]))
        }
        #expect(cache.count == 25)
    }

    /// Candidates that leave and come back while keys of one hash are being compared.
    @Test func keysOfOneHashMayChangeWhileTheyAreCompared() {
        let cache = PurgeableCache<ChangingKey>()
        for number in 0..<200 { cache.setBytes([UInt8(number)], forKey: ChangingKey(number)) }
        for wanted in [0, 1, 99, 198, 199] {
            ChangingKey.onComparison.withLock { $0 = { cache.change(100 + wanted % 2 * 7) } }
            #expect(cache.bytes(forKey: ChangingKey(wanted)) == [UInt8(wanted)])
            ChangingKey.onComparison.withLock { $0 = { cache.change(50) } }
            cache.setBytes([UInt8(wanted)], forKey: ChangingKey(wanted))
            #expect(cache.bytes(forKey: ChangingKey(wanted)) == [UInt8(wanted)])
        }
        #expect(cache.count == 200)
    }

    /// An `==` that inserts into a cache with one place, which its caller needs too.
    @Test(.timeLimit(.minutes(10))) func comparisonsMayTakeTheOnlyPlace() {
        let cache = PurgeableCache<ChangingKey>(countLimit: 1)
        for number in 0..<100 {
            ChangingKey.onComparison.withLock { $0 = { cache.setBytes([1], forKey: ChangingKey(1000)) } }
            cache.setBytes([2], forKey: ChangingKey(number))
            #expect(cache.count == 1)
        }
    }

    /// An `==` that stores a key of the same hash each time: the search ends all the same.
    @Test(.timeLimit(.minutes(10))) func comparisonsMayStoreOneKeyAfterAnother() {
        let cache = PurgeableCache<ChangingKey>()
        cache.setBytes([1], forKey: ChangingKey(1))
        let stored = Atomic<Int>(1)
        @Sendable func storeAnother() {
            let number = stored.wrappingAdd(1, ordering: .relaxed).newValue
            cache.setBytes([2], forKey: ChangingKey(number))
            ChangingKey.onComparison.withLock { $0 = storeAnother }
        }
        ChangingKey.onComparison.withLock { $0 = storeAnother }
        #expect(cache.bytes(forKey: ChangingKey(0)) == nil)
        ChangingKey.onComparison.withLock { $0 = nil }
        #expect(stored.load(ordering: .relaxed) > KeyHash<Int>.comparisonRounds)
        #expect(cache.bytes(forKey: ChangingKey(1)) == [1])
    }

    /// A collection that uses the cache while it is being read.
    @Test func collectionsMayUseTheCache() {
        struct Meddling: Collection {
            let cache: PurgeableCache<Int>
            var startIndex: Int { 0 }
            var endIndex: Int { 3000 }
            func index(after index: Int) -> Int { index + 1 }
            subscript(index: Int) -> UInt8 {
                cache.setBytes([1, 2], forKey: 1000 + index)
                return UInt8(truncatingIfNeeded: index)
            }
        }
        let cache = PurgeableCache<Int>()
        cache.setBytes(Meddling(cache: cache), forKey: 1)
        #expect(cache.bytes(forKey: 1) == (0..<3000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(cache.count == 3001)
    }
}
