//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import PurgeableMemory
import Testing

@Suite struct DiscardableTests {
    let cache = NSCache<NSNumber, Tile>()
    let recorder = Recorder()

    init() { cache.delegate = recorder }

    @Test("48 the cache holds a strong reference to the object")
    func strongReference() {
        weak var weakTile: Tile?
        do {
            let tile = Tile()
            weakTile = tile
            cache.setObject(tile, forKey: 1)
        }
        #expect(weakTile != nil)
    }

    @Test("49 counter 0, removeObject: discarded; the delegate is told first")
    func removalDiscards() {
        let tile = Tile()
        var toldBefore: Bool?
        tile.onDiscard = { [recorder] in toldBefore = recorder.objects.count == 1 }
        cache.setObject(tile, forKey: 1)
        cache.removeObject(forKey: 1)
        #expect(tile.isContentDiscarded())
        #expect(toldBefore == true)
        #expect(tile.discardCalls == 1)
    }

    @Test("50 counter 1, removeObject: not discarded")
    func removalSparesAccessed() {
        let tile = Tile(accessCount: 1)
        cache.setObject(tile, forKey: 1)
        cache.removeObject(forKey: 1)
        #expect(!tile.isContentDiscarded())
        #expect(tile.discardCalls == 1)
    }

    @Test("51 counter 0, evicted by cost 100 over limit 50: discarded, lookup nil", arguments: [true, false])
    func evictionDiscards(flag: Bool) {
        cache.evictsObjectsWithDiscardedContent = flag
        let tile = Tile()
        cache.setObject(tile, forKey: 1, cost: 100)
        cache.totalCostLimit = 50
        #expect(tile.isContentDiscarded())
        #expect(cache.object(forKey: 1) == nil)
        let giant = Tile()
        cache.setObject(giant, forKey: 1, cost: 100)
        #expect(giant.isContentDiscarded())
        #expect(cache.object(forKey: 1) == nil)
        #expect(recorder.objects.count == 2)
        cache.totalCostLimit = 0
        let second = Tile()
        cache.setObject(second, forKey: 2, cost: 40)
        cache.totalCostLimit = 50
        cache.setObject(Tile(), forKey: 3, cost: 40)
        #expect(second.isContentDiscarded())
        #expect(cache.object(forKey: 2) == nil)
    }

    @Test("52 removeAllObjects with the flag off: all discarded, all nil")
    func removeAllDiscards() {
        cache.evictsObjectsWithDiscardedContent = false
        let tiles = (0..<10).map { _ in Tile() }
        for (number, tile) in tiles.enumerated() { cache.setObject(tile, forKey: NSNumber(value: number)) }
        cache.removeAllObjects()
        #expect(tiles.allSatisfy { $0.isContentDiscarded() })
        #expect((0..<10).allSatisfy { cache.object(forKey: NSNumber(value: $0)) == nil })
    }

    @Test("53 counter 0 without pressure or limits: the content stays")
    func contentStays() {
        let tile = Tile()
        cache.setObject(tile, forKey: 1)
        for number in 2..<100 { cache.setObject(Tile(), forKey: NSNumber(value: number)) }
        #expect(cache.object(forKey: 1) === tile)
        #expect(!tile.isContentDiscarded() && tile.discardCalls == 0)
    }

    @Test("54 values that are not discardable do not care about the flag", arguments: [true, false])
    func plainValues(flag: Bool) {
        let cache = NSCache<NSNumber, Token>()
        cache.evictsObjectsWithDiscardedContent = flag
        cache.setObject(Token(), forKey: 1)
        #expect(cache.object(forKey: 1) != nil)
    }

    @Test("55 discarded before setObject: the set succeeds, the lookup gives nil and tells the delegate")
    func discardedBefore() {
        let tile = Tile()
        tile.discardContentIfPossible()
        cache.setObject(tile, forKey: 1)
        #expect(recorder.objects.isEmpty)
        #expect(cache.object(forKey: 1) == nil)
        #expect(recorder.objects.count == 1)
        #expect(cache.object(forKey: 1) == nil)
        #expect(recorder.objects.count == 1)
    }

    @Test("With the flag off a discarded object is still found")
    func flagOff() {
        let tile = Tile()
        cache.setObject(tile, forKey: 1)
        tile.discardContentIfPossible()
        cache.evictsObjectsWithDiscardedContent = false
        #expect(cache.object(forKey: 1) === tile)
        cache.evictsObjectsWithDiscardedContent = true
        #expect(cache.object(forKey: 1) == nil)
    }

    @Test("56 a lookup does not change the access counter")
    func lookupLeavesCounter() {
        let tile = Tile(accessCount: 1)
        cache.setObject(tile, forKey: 1)
        for _ in 0..<10 { _ = cache.object(forKey: 1) }
        #expect(tile.accessCount == 1)
    }

    @Test("Discarded content does not hold room: it goes before anything that is used")
    func discardedGoFirst() {
        cache.countLimit = 3
        for number in 0..<3 { cache.setObject(Tile(), forKey: NSNumber(value: number)) }
        cache.object(forKey: 2)?.discardContentIfPossible()
        cache.setObject(Tile(), forKey: 3)
        #expect((0..<4).filter { cache.object(forKey: NSNumber(value: $0)) != nil } == [0, 1, 3])
    }

    @Test("Content that begin makes anew is not taken for discarded for ever")
    func recreated() {
        let tile = Tile(isRecreated: true)
        cache.setObject(tile, forKey: 1)
        tile.discardContentIfPossible()
        #expect(tile.beginContentAccess())
        #expect(cache.object(forKey: 1) === tile)
        tile.endContentAccess()
        cache.evictsObjectsWithDiscardedContent = false
        tile.discardContentIfPossible()
        let found = cache.object(forKey: 1)
        #expect(found?.beginContentAccess() == true)
        cache.evictsObjectsWithDiscardedContent = true
        #expect(cache.object(forKey: 1) === tile)
    }

    @Test("Setting the identical object again does not discard what the cache still holds")
    func identicalIsNotDiscarded() {
        let tile = Tile()
        cache.setObject(tile, forKey: 1, cost: 1)
        cache.setObject(tile, forKey: 1, cost: 2)
        #expect(tile.discardCalls == 0)
        #expect(cache.object(forKey: 1) === tile)
        #expect(recorder.objects.isEmpty)
        cache.setObject(Tile(), forKey: 1)
        #expect(tile.isContentDiscarded())
    }

    @Test("A native PurgeableBytes is honoured as NSDiscardableContent is")
    func nativeContent() {
        let cache = NSCache<NSNumber, PurgeableBytes>()
        let bytes = PurgeableBytes(copying: [UInt8].pattern(10_000))
        cache.setObject(bytes, forKey: 1)
        #expect(cache.object(forKey: 1) === bytes)
        bytes.discardContentIfPossible()
        #expect(cache.object(forKey: 1) == nil)
        let second = PurgeableBytes(copying: [UInt8].pattern(10_000))
        cache.setObject(second, forKey: 2)
        cache.removeObject(forKey: 2)
        #expect(second.isContentDiscarded)
    }

    @Test("65 the class of Item 50: hit, miss, purged")
    func networkCache() {
        let fetcher = Fetcher()
        let url = NSURL(string: "https://example.com/image.png")!
        fetcher.download(url)
        #expect(fetcher.downloads == 1)
        fetcher.download(NSURL(string: "https://example.com/image.png")!)
        #expect(fetcher.downloads == 1 && fetcher.uses == 2)
        fetcher.cache.object(forKey: url)?.discardContentIfPossible()
        fetcher.download(url)
        #expect(fetcher.downloads == 2 && fetcher.uses == 3)
        for number in 0..<200 { fetcher.download(NSURL(string: "https://example.com/\(number)")!) }
        #expect(fetcher.cache.object(forKey: url) == nil)
        #expect(fetcher.cache.object(forKey: NSURL(string: "https://example.com/199")!) != nil)
    }

    final class Fetcher {
        let cache = NSCache<NSURL, NSPurgeableData>()
        private(set) var downloads = 0
        private(set) var uses = 0

        init() {
            cache.countLimit = 100
            cache.totalCostLimit = 5 * 1024 * 1024
        }

        func download(_ url: NSURL) {
            if let data = cache.object(forKey: url), data.beginContentAccess() {
                use(data)
                data.endContentAccess()
                return
            }
            downloads += 1
            let data = NSPurgeableData(data: Data([UInt8].pattern(20_000)))
            cache.setObject(data, forKey: url, cost: data.length)
            use(data)
            data.endContentAccess()
        }

        private func use(_ data: NSPurgeableData) {
            uses += 1
            #expect(data.length == 20_000)
        }
    }
}
