//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing

@Suite struct DelegateTests {
    let cache = NSCache<NSNumber, Token>()
    let recorder = Recorder()

    init() { cache.delegate = recorder }

    private func fill(_ numbers: Range<Int>) {
        for number in numbers { cache.setObject(Token(number), forKey: NSNumber(value: number), cost: 1) }
    }

    @Test("38 an eviction for a limit tells once, with the object and this cache")
    func limitEviction() {
        cache.countLimit = 2
        fill(0..<3)
        #expect(recorder.numbers == [0])
        #expect(recorder.caches.first === cache)
        cache.countLimit = 0
        cache.totalCostLimit = 2
        fill(3..<4)
        #expect(recorder.numbers == [0, 1])
    }

    @Test("39 removeObject tells once")
    func removal() {
        fill(0..<3)
        cache.removeObject(forKey: 1)
        #expect(recorder.numbers == [1])
    }

    @Test("40 removeAllObjects tells once for each object")
    func removalOfAll() {
        fill(0..<100)
        cache.removeAllObjects()
        #expect(recorder.numbers.sorted() == Array(0..<100))
        cache.removeAllObjects()
        #expect(recorder.numbers.count == 100)
    }

    @Test("41 a replacement tells once, with the old value; setting the identical object again tells nothing")
    func replacement() {
        let first = Token(1), second = Token(2)
        cache.setObject(first, forKey: 0, cost: 3)
        cache.setObject(first, forKey: 0, cost: 4)
        #expect(recorder.numbers == [])
        cache.setObject(second, forKey: 0)
        #expect(recorder.numbers == [1])
        #expect(cache.object(forKey: 0) === second)
    }

    @Test("An object that is set again at more than the whole limit departs once", arguments: [false, true])
    func identicalGiant(isReplacedFirst: Bool) {
        let cache = NSCache<NSNumber, Tile>()
        cache.delegate = recorder
        cache.totalCostLimit = 10
        let tile = Tile(), other = Tile()
        cache.setObject(other, forKey: 1, cost: 1)
        cache.setObject(tile, forKey: 0, cost: 3)
        if isReplacedFirst { cache.setObject(tile, forKey: 0, cost: 4) }
        cache.setObject(tile, forKey: 0, cost: 11)
        #expect(recorder.objects.count == 1 && recorder.objects.first === tile)
        #expect(tile.isDiscarded && tile.discardCalls == 1)
        #expect(cache.object(forKey: 0) == nil && cache.object(forKey: 1) === other)
        // Another object at that price is a departure more: the old one's, and its own.
        cache.setObject(tile, forKey: 0, cost: 3)
        cache.evictsObjectsWithDiscardedContent = false
        let giant = Tile()
        recorder.forget()
        cache.setObject(giant, forKey: 0, cost: 11)
        #expect(recorder.objects.count == 2 && recorder.objects.contains { $0 === tile })
        #expect(recorder.objects.last === giant)
    }

    @Test("A giant under another key takes the object's first place from nobody")
    func giantUnderAnotherKey() {
        cache.totalCostLimit = 10
        let token = Token(7)
        cache.setObject(token, forKey: 1, cost: 3)
        cache.setObject(token, forKey: 2, cost: 11)
        #expect(recorder.numbers == [7])
        #expect(cache.object(forKey: 1) === token && cache.object(forKey: 2) == nil)
    }

    @Test("The identical object takes its new cost and counts as used")
    func identicalReplacement() {
        cache.totalCostLimit = 10
        let token = Token(0)
        cache.setObject(token, forKey: 0, cost: 9)
        cache.setObject(Token(1), forKey: 1, cost: 1)
        cache.setObject(token, forKey: 0, cost: 1)
        cache.setObject(Token(2), forKey: 2, cost: 8)
        #expect(recorder.numbers == [])
        cache.setObject(Token(3), forKey: 3, cost: 1)
        #expect(recorder.numbers == [1])
    }

    @Test("42 without a delegate nothing breaks")
    func withoutDelegate() {
        cache.delegate = nil
        cache.countLimit = 2
        fill(0..<10)
        cache.removeAllObjects()
        #expect(recorder.numbers == [])
    }

    @Test("43 a delegate without the method compiles and runs")
    func optionalMethod() {
        final class Silent: NSObject, NSCacheDelegate {}
        let silent = Silent()
        cache.delegate = silent
        cache.countLimit = 1
        fill(0..<3)
        #expect(cache.delegate === silent)
        #expect(cache.object(forKey: 2) != nil)
    }

    @Test("44 the object is alive during the call though the cache held the last reference, and already unlinked")
    func objectIsAlive() {
        let counter = LifeCounter()
        var aliveDuringCall: [Int] = []
        var found: [Bool] = []
        recorder.action = { cache, object in
            aliveDuringCall.append(counter.alive)
            found.append(cache.object(forKey: NSNumber(value: (object as! Token).number)) != nil)
        }
        cache.setObject(Token(7, in: counter), forKey: 7)
        cache.removeObject(forKey: 7)
        #expect(aliveDuringCall == [1])
        #expect(found == [false])
        recorder.forget()
        #expect(counter.alive == 0)
    }

    @Test("45 the delegate is not retained, and its going is no trouble")
    func delegateIsWeak() {
        weak var weakDelegate: Recorder?
        do {
            let short = Recorder()
            weakDelegate = short
            cache.delegate = short
            #expect(cache.delegate === short)
        }
        #expect(weakDelegate == nil)
        #expect(cache.delegate == nil)
        cache.countLimit = 1
        fill(0..<3)
        #expect(cache.object(forKey: 2) != nil)
    }

    @Test("46 lookups, hits or misses, never tell")
    func lookupsAreSilent() {
        fill(0..<10)
        _ = present(in: cache, of: 0..<20)
        #expect(recorder.numbers == [])
    }

    @Test("47 after a change of delegate only the new one is told")
    func changedDelegate() {
        let newcomer = Recorder()
        fill(0..<2)
        cache.removeObject(forKey: 0)
        cache.delegate = newcomer
        cache.removeObject(forKey: 1)
        #expect(recorder.numbers == [0])
        #expect(newcomer.numbers == [1])
    }

    @Test("Nobody is told when the cache itself goes")
    func deinitialisation() {
        let counter = LifeCounter()
        do {
            let cache = NSCache<NSNumber, Token>()
            cache.delegate = recorder
            for number in 0..<10 { cache.setObject(Token(in: counter), forKey: NSNumber(value: number)) }
        }
        #expect(recorder.numbers == [])
        #expect(counter.alive == 0)
    }

    @Test("One object under two keys departs twice")
    func twoKeysForOneObject() {
        let counter = LifeCounter()
        var token: Token? = Token(5, in: counter)
        cache.setObject(token!, forKey: 1, cost: 2)
        cache.setObject(token!, forKey: 2, cost: 2)
        token = nil
        cache.removeObject(forKey: 1)
        #expect(recorder.numbers == [5])
        #expect(cache.object(forKey: 2)?.number == 5)
        cache.removeObject(forKey: 2)
        #expect(recorder.numbers == [5, 5])
        recorder.forget()
        #expect(counter.alive == 0)
    }

    @Test("The delegate may set, remove and change limits from within, without end or damage")
    func reentrantDelegate() {
        let cache = self.cache
        var depth = 0
        recorder.action = { _, object in
            guard depth < 3 else { return }
            depth += 1
            let number = (object as! Token).number
            cache.setObject(Token(number + 1_000), forKey: NSNumber(value: number + 1_000))
            cache.removeObject(forKey: NSNumber(value: number))
            _ = cache.object(forKey: 3)
            cache.countLimit = 4
            depth -= 1
        }
        cache.countLimit = 5
        fill(0..<20)
        recorder.action = nil
        #expect(present(in: cache, of: 0..<2_100).count <= 4)
        #expect(Set(recorder.objects.map { ObjectIdentifier($0) }).count == recorder.objects.count, "told once each")
    }

    @Test("A delegate that re-inserts whatever leaves keeps a cache at its limit and returns")
    func reinsertingDelegate() {
        let cache = self.cache
        var budget = 100
        recorder.action = { _, object in
            budget -= 1
            if budget > 0 { cache.setObject(object as! Token, forKey: NSNumber(value: (object as! Token).number)) }
        }
        cache.countLimit = 3
        fill(0..<4)
        recorder.action = nil
        #expect(present(in: cache, of: 0..<4).count == 3)
    }
}
