//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite struct PurgeableCachePolicyTests {
    private func segment(_ number: Int, stream: Int = 0, live: Int = 1 << 20, resident: Int = 1 << 20)
        -> SegmentPolicy.Candidate
    {
        .init(number: number, stream: stream, liveBytes: live, residentBytes: resident, isVolatile: true)
    }

    @Test func nothingIsCleanedWhileThereIsRoom() {
        var policy = SegmentPolicy()
        let segments = (0..<100).map { segment($0) }
        for _ in 0..<10 {
            let decision = policy.decide(segments, lostBytes: 0, insertedBytes: 8 << 20, ordinaryLimit: .max)
            #expect(decision == .init())
        }
        #expect(policy.capacity == nil)
    }

    @Test func onceTheKernelTakesPagesProbationShrinksToATenth() {
        var policy = SegmentPolicy()
        let segments = (0..<40).map { segment($0, stream: 0) } + (40..<100).map { segment($0, stream: 1) }
        let decision = policy.decide(segments, lostBytes: 1 << 20, insertedBytes: 8 << 20, ordinaryLimit: .max)
        #expect(policy.capacity == 100 << 20)
        #expect(decision.promote == Array(0..<8), "the oldest, as much as will be inserted")
        #expect(decision.compact.isEmpty)
        let few = (0..<10).map { segment($0, stream: 0) } + (10..<100).map { segment($0, stream: 1) }
        #expect(policy.decide(few, lostBytes: 1 << 20, insertedBytes: 8 << 20, ordinaryLimit: .max) == .init())
    }

    @Test func capacityGrowsAgainWhenThereIsRoom() {
        var policy = SegmentPolicy()
        _ = policy.decide((0..<50).map { segment($0) }, lostBytes: 1 << 20, insertedBytes: 0, ordinaryLimit: .max)
        #expect(policy.capacity == 50 << 20)
        for _ in 0..<100 {
            _ = policy.decide(
                (0..<50).map { segment($0) },
                lostBytes: 0,
                insertedBytes: 16 << 20,
                ordinaryLimit: .max
            )
        }
        #expect(policy.capacity == 66 << 20, "by a sixteenth of what is inserted, as far as that can reach")
    }

    @Test func theSparsestSegmentsAreCompactedFirst() {
        var policy = SegmentPolicy()
        let dense = (0..<10).map { segment($0) }
        let half = (10..<20).map { segment($0, live: 1 << 19) }
        let empty = (20..<30).map { segment($0, live: 1 << 15) }
        let decision = policy.decide(dense + half + empty, lostBytes: 0, insertedBytes: 0, ordinaryLimit: .max)
        #expect(decision.compact.allSatisfy { $0 >= 20 })
        #expect(!decision.compact.isEmpty)
        #expect(policy.decide(dense + half, lostBytes: 0, insertedBytes: 0, ordinaryLimit: .max) == .init())
    }

    @Test func remnantsAreCompacted() {
        var policy = SegmentPolicy()
        let segments = (0..<10).map { segment($0) } + [segment(10, resident: 100 << 10)]
        let decision = policy.decide(segments, lostBytes: 0, insertedBytes: 0, ordinaryLimit: .max)
        #expect(decision.compact == [10])
    }

    @Test func ordinarySegmentsAboveTheBudgetGoOldestFirst() {
        var policy = SegmentPolicy()
        var segments = (0..<10).map { segment($0) }
        for index in segments.indices { segments[index].isVolatile = false }
        let decision = policy.decide(segments, lostBytes: 0, insertedBytes: 0, ordinaryLimit: 7 << 20)
        #expect(decision.drop == [0, 1, 2])
    }

    @Test func ghostsRememberTheLastKeysOfTheirSet() {
        var ghosts = KeyGhosts(count: 1000)
        let seed = HashSeed(word: 42)
        for key in 0..<1000 { ghosts.insert(IndexHash(UInt64(key), seed: seed)) }
        let found = (900..<1000).count { ghosts.take(IndexHash(UInt64($0), seed: seed)) }
        #expect(found >= 85, "the youngest hundred are mostly there")
        let again = (900..<1000).count { ghosts.take(IndexHash(UInt64($0), seed: seed)) }
        #expect(again <= 2, "each is remembered once")
        let strangers = (10_000..<20_000).count { ghosts.take(IndexHash(UInt64($0), seed: seed)) }
        #expect(strangers < 20)
    }

    @Test func theIndexAgreesWithADictionary() {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCachePolicyTests.theIndexAgreesWithADictionary: seed \(seed)")
        var random = SplitMix64(seed: seed)
        let hashSeed = HashSeed(word: random.next())
        var index = PurgeableIndex()
        var model: [UInt64: (slot: Int, location: UInt64)] = [:]
        for step in 1...40_000 {
            let word = UInt64.random(in: 0..<3000, using: &random)
            let hash = IndexHash(word, seed: hashSeed)
            var found: Int?
            index.forEachCandidate(hash, word: word) { slot in
                found = slot
                return false
            }
            #expect(found == model[word]?.slot)
            if let slot = found {
                #expect(index[slot].pointee.location == model[word]!.location)
                index.remove(slot, hash)
                model[word] = nil
            } else if step % 3 != 0 {
                let slot = index.insert(hash, word: word, location: UInt64(step), seed: hashSeed)!
                model[word] = (slot, UInt64(step))
            }
            if step % 10_000 == 0 { #expect(index.count == model.count) }
        }
        #expect(index.byteCount < 3000 * 40)
    }
}
