//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import Testing
import _CacheTestSupport

@testable import FoundationCaching

@Suite struct BasicsTests {
    @Test("1 a new cache has no name, no limits and no delegate, and evicts what is discarded")
    func defaults() {
        let cache = NSCache<NSString, NSNumber>()
        #expect(cache.name == "")
        #expect(cache.countLimit == 0)
        #expect(cache.totalCostLimit == 0)
        #expect(cache.evictsObjectsWithDiscardedContent)
        #expect(cache.delegate == nil)
    }

    @Test("2 set and get give the same instance; 3 an unknown key gives nil")
    func setAndGet() {
        let cache = NSCache<NSString, Token>()
        let token = Token()
        cache.setObject(token, forKey: "key")
        #expect(cache.object(forKey: "key") === token)
        #expect(cache.object(forKey: "other") == nil)
    }

    @Test("4 name is set and read, and limits are read as they were set")
    func settings() {
        let cache = NSCache<NSString, Token>()
        cache.name = "thumbnails"
        cache.countLimit = -3
        cache.totalCostLimit = 7
        cache.evictsObjectsWithDiscardedContent = false
        #expect(cache.name == "thumbnails")
        #expect(cache.countLimit == -3)
        #expect(cache.totalCostLimit == 7)
        #expect(!cache.evictsObjectsWithDiscardedContent)
    }

    @Test("5 an equal but distinct NSString finds the value, whatever class of string it is")
    func equalStrings() {
        let cache = NSCache<NSString, Token>()
        for text in ["key", "a longer key that is no small string", "é", "日本語", ""] {
            cache.setObject(Token(1), forKey: NSString(string: text))
            #expect(cache.object(forKey: NSString(string: text)) != nil)
            #expect(cache.object(forKey: NSMutableString(string: text)) != nil)
            let part = NSString(string: "<" + text + ">").substring(
                with: NSRange(location: 1, length: text.utf16.count)
            )
            #expect(cache.object(forKey: part as NSString) != nil)
        }
    }

    @Test("6 an NSMutableString that changed after set, and back, is found again")
    func mutatedKey() {
        let cache = NSCache<NSMutableString, Token>()
        let key = NSMutableString(string: "key")
        cache.setObject(Token(), forKey: key)
        key.append("!")
        #expect(cache.object(forKey: key) == nil)
        key.setString("key")
        #expect(cache.object(forKey: key) != nil)
    }

    // In a small table one changed hash in 256 leads to the very place, and the very object is there.
    @Test("6b a key that has changed is found by what it is now, in none of 4,000 caches by what it was")
    func mutatedKeyIsFoundByChance() {
        let found = (0..<4_000).count { number in
            let cache = NSCache<NSMutableString, Token>()
            let key = NSMutableString(string: "key")
            cache.setObject(Token(), forKey: key)
            key.append("\(number)")
            return cache.object(forKey: key) != nil
        }
        #expect(found == 0)
    }

    @Test("7 a key class without NSCopying works; the key is not copied and kept alive; 8 both go after removal")
    func keysAreRetained() {
        let keys = LifeCounter(), values = LifeCounter()
        let cache = NSCache<Token, Token>()
        weak var weakKey: Token?
        do {
            let key = Token(in: keys)
            weakKey = key
            cache.setObject(Token(in: values), forKey: key)
            #expect(cache.object(forKey: key) != nil)
        }
        #expect(keys.alive == 1 && values.alive == 1)
        if let key = weakKey { cache.removeObject(forKey: key) }
        #expect(keys.alive == 0 && values.alive == 0)
    }

    @Test("9 set twice gives the second value, and the first is released")
    func replacing() {
        let counter = LifeCounter()
        let cache = NSCache<NSString, Token>()
        cache.setObject(Token(1, in: counter), forKey: "key")
        cache.setObject(Token(2, in: counter), forKey: "key")
        #expect(cache.object(forKey: "key")?.number == 2)
        #expect(counter.alive == 1)
    }

    @Test("10 removeObject leaves the others; 11 removing what is absent does nothing")
    func removing() {
        let cache = NSCache<NSNumber, Token>()
        let recorder = Recorder()
        cache.delegate = recorder
        for number in 0..<10 { cache.setObject(Token(number), forKey: NSNumber(value: number)) }
        cache.removeObject(forKey: 3)
        #expect(present(in: cache, of: 0..<10) == [0, 1, 2, 4, 5, 6, 7, 8, 9])
        cache.removeObject(forKey: 3)
        cache.removeObject(forKey: 99)
        #expect(recorder.numbers == [3])
    }

    @Test("12 removeAllObjects leaves nothing, releases everything, and the cache can be used again")
    func removingAll() {
        let counter = LifeCounter()
        let cache = NSCache<NSNumber, Token>()
        for round in 0..<3 {
            for number in 0..<1_000 { cache.setObject(Token(number, in: counter), forKey: NSNumber(value: number)) }
            #expect(counter.alive == 1_000, "round \(round)")
            cache.removeAllObjects()
            #expect(counter.alive == 0)
            #expect(present(in: cache, of: 0..<1_000).isEmpty)
        }
    }

    @Test("13 setObject without a cost is setObject with a cost of 0")
    func costless() {
        let cache = NSCache<NSNumber, Token>()
        cache.totalCostLimit = 1
        for number in 0..<100 { cache.setObject(Token(), forKey: NSNumber(value: number)) }
        #expect(present(in: cache, of: 0..<100).count == 100)
    }

    /// Equal by ==, and no NSObject.
    class Path: Hashable {
        let components: [String]
        init(_ components: [String]) { self.components = components }
        static func == (left: Path, right: Path) -> Bool { left.components == right.components }
        func hash(into hasher: inout Hasher) { hasher.combine(components) }
    }
    final class AbsolutePath: Path {}
    final class RelativePath: Path {}

    @Test("14 keys of Hashable classes are compared by ==, subclasses among them")
    func hashableKeys() {
        let cache = NSCache<Path, Token>()
        cache.setObject(Token(1), forKey: Path(["a", "b"]))
        #expect(cache.object(forKey: Path(["a", "b"]))?.number == 1)
        #expect(cache.object(forKey: AbsolutePath(["a", "b"]))?.number == 1)
        #expect(cache.object(forKey: Path(["a"])) == nil)
        cache.setObject(Token(2), forKey: AbsolutePath(["a", "b"]))
        #expect(cache.object(forKey: Path(["a", "b"]))?.number == 2)
        #expect(cache.object(forKey: RelativePath(["a", "b"]))?.number == 2)
    }

    // What is known of a class has a place among 256: some of so many classes share one.
    @Test("14 keys of 600 Hashable classes in one cache, each object found by an equal one of its own class alone")
    func manyHashableClasses() {
        let cache = NSCache<AnyObject, Token>()
        func keys<Part>(of part: Part.Type, depth: Int) -> [(Int) -> AnyObject] {
            let key: (Int) -> AnyObject = { Labelled<Part>($0) }
            return depth == 0 ? [key] : [key] + keys(of: [Part].self, depth: depth - 1)
        }
        let makers = [keys(of: Int.self, depth: 299), keys(of: String.self, depth: 299)].joined()
        for (number, key) in makers.enumerated() { cache.setObject(Token(number), forKey: key(7)) }
        for (number, key) in makers.enumerated() {
            #expect(cache.object(forKey: key(7))?.number == number)
            #expect(cache.object(forKey: key(8)) == nil)
        }
    }

    final class Labelled<Part>: Hashable {
        let label: Int
        init(_ label: Int) { self.label = label }
        static func == (left: Labelled, right: Labelled) -> Bool { left.label == right.label }
        func hash(into hasher: inout Hasher) { hasher.combine(label) }
    }

    @Test("14 values boxed as objects are keys too")
    func boxedKeys() {
        struct Point: Hashable { var x = 0, y = 0 }
        let cache = NSCache<AnyObject, Token>()
        cache.setObject(Token(1), forKey: "text" as AnyObject)
        cache.setObject(Token(2), forKey: 7 as AnyObject)
        cache.setObject(Token(3), forKey: Point(x: 1, y: 2) as AnyObject)
        #expect(cache.object(forKey: NSString(string: "text"))?.number == 1)
        #expect(cache.object(forKey: NSNumber(value: 7))?.number == 2)
        #expect(cache.object(forKey: Point(x: 1, y: 2) as AnyObject)?.number == 3)
        #expect(cache.object(forKey: Point(x: 1, y: 3) as AnyObject) == nil)
    }

    @Test("15 keys of plain classes are compared by identity, 100k inserts in linear time")
    func identityKeys() {
        let cache = NSCache<Token, Token>()
        let keys = (0..<100_000).map { Token($0) }
        let value = Token()
        // A debug build takes less than a second; one chain of all keys would take many minutes.
        failingWhenStuck("inserting 100,000 keys") { for key in keys { cache.setObject(value, forKey: key) } }
        #expect(keys.allSatisfy { cache.object(forKey: $0) != nil })
        #expect(cache.object(forKey: Token(5)) == nil)
    }

    @Test("16 without limits 100k entries are all present, and no content is discarded")
    func unlimited() {
        let cache = NSCache<NSNumber, Tile>()
        for number in 0..<100_000 { cache.setObject(Tile(), forKey: NSNumber(value: number), cost: 10) }
        #expect((0..<100_000).allSatisfy { cache.object(forKey: NSNumber(value: $0))?.isDiscarded == false })
    }

    @Test("A cache may be subclassed, and its members overridden")
    func subclassing() {
        final class Counting: NSCache<NSString, Token>, @unchecked Sendable {
            var lookups = 0
            override init() {
                super.init()
                name = "counting"
            }
            override func object(forKey key: NSString) -> Token? {
                lookups += 1
                return super.object(forKey: key)
            }
            override var countLimit: Int { didSet { lookups = 0 } }
        }
        let cache: NSCache<NSString, Token> = Counting()
        cache.setObject(Token(), forKey: "key")
        #expect(cache.object(forKey: "key") != nil)
        #expect((cache as? Counting)?.lookups == 1 && cache.name == "counting")
        cache.countLimit = 1
        #expect((cache as? Counting)?.lookups == 0)
    }

    @Test("A cache of Sendable classes is Sendable")
    func sendability() {
        enum Holder { static let shared = NSCache<NSNumber, NSURL>() }
        func requireSendable(_: some Sendable) {}
        requireSendable(Holder.shared)
    }

    @Test("A million entries go with their cache, on a thread with a small stack")
    func millionEntries() {
        let counter = LifeCounter()
        let thread = Thread {
            let cache = NSCache<NSNumber, Token>()
            for number in 0..<1_000_000 { cache.setObject(Token(in: counter), forKey: NSNumber(value: number)) }
        }
        thread.stackSize = 256 << 10
        thread.start()
        while !thread.isFinished { Thread.sleep(forTimeInterval: 0.01) }
        #expect(counter.alive == 0)
    }
}
