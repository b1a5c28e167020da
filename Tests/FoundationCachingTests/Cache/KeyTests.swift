//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

@testable import FoundationCaching

/// Keys whose hash or comparison has a shorter way: the answers must be those of `hash` and `isEqual(_:)`.
@Suite struct KeyTests {
    /// A string of somebody else's, from the two primitives alone: `hash` and `isEqual(_:)` are inherited.
    class Units: NSString {
        let units: [unichar]
        override var length: Int { units.count }
        override func character(at index: Int) -> unichar { units[index] }

        init(units text: String) {
            units = Array(text.utf16)
            super.init(characters: [], length: 0)
        }
        required init(string: String) { fatalError() }
        required init?(coder: NSCoder) { fatalError() }
        required init(unicodeScalarLiteral value: StaticString) { fatalError() }
        required init(extendedGraphemeClusterLiteral value: StaticString) { fatalError() }
        required init(stringLiteral value: StaticString) { fatalError() }
    }

    /// A string that is equal to others in any case.
    final class Caseless: Units {
        private var text: String { String(decoding: units, as: UTF16.self).lowercased() }
        override var hash: Int { text.hashValue }
        override func isEqual(_ object: Any?) -> Bool { (object as? Caseless)?.text == text }
    }

    /// Texts of all lengths around the borders of the hash, ASCII and not.
    static func texts(_ random: inout SplitMix64) -> [String] {
        let alphabets = [Array("abc/:.?&0123456789"), Array("abü"), Array("日本語x"), Array("👩‍👩‍👧e\u{301}é\u{0}")]
        return (0..<400).map { index in
            let alphabet = alphabets[index % 8 < 5 ? 0 : index % 8 - 4]
            return String(
                (0..<Int.random(in: 0...index, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
            )
        }
    }

    @Test("Strings and numbers are read in place with this Foundation, and URLs hashed by their strings")
    func shortWaysAreOpen() {
        #expect(StringInPlace.isReadable)
        #expect(NumberInPlace.kinds != nil)
        #expect(URLHash.isHashOfString)
    }

    @Test("A string's key hashes as the string does, and is equal as the string is")
    func strings() {
        let seed = UInt64.random(in: 0 ... .max)
        print("keys seed \(seed)")
        var random = SplitMix64(seed: seed)
        let texts = Self.texts(&random)
        for text in texts {
            let string = NSString(string: text), mutable = NSMutableString(string: text)
            #expect(ObjectKey(object: string).hashValue == string.hash, "seed \(seed)")
            #expect(ObjectKey(object: mutable).hashValue == mutable.hash, "seed \(seed)")
            #expect(ObjectKey(object: string) == ObjectKey(object: mutable), "seed \(seed)")
            let other = NSString(string: texts.randomElement(using: &random)!)
            #expect((ObjectKey(object: string) == ObjectKey(object: other)) == string.isEqual(other), "seed \(seed)")
            mutable.append("!")
            #expect(ObjectKey(object: mutable).hashValue == mutable.hash, "seed \(seed)")
            #expect(ObjectKey(object: string) != ObjectKey(object: mutable), "seed \(seed)")
        }
    }

    /// Reads the stored key of `left` as a hit does, for `right`: its hash, and whether the two are surely equal.
    static func readInPlace(_ left: AnyObject, _ right: AnyObject) -> (hash: Int?, areSurelyEqual: Bool) {
        let hash = KeyInPlace.shared.pointee.hash(right)
        let stored = ObjectKey(object: left)
        return (
            hash, hash != nil && withUnsafePointer(to: stored) { KeyInPlace.shared.pointee.areSurelyEqual(right, $0) }
        )
    }

    @Test("What a hit reads of a key in place is its hash, and equality where it is certain")
    func inPlace() {
        let seed = UInt64.random(in: 0 ... .max)
        print("keys seed \(seed)")
        var random = SplitMix64(seed: seed)
        for text in Self.texts(&random) {
            let string = NSString(string: text)
            let same = Self.readInPlace(NSString(string: text), string)
            #expect(same.areSurelyEqual == (same.hash != nil), "seed \(seed)")
            #expect((same.hash != nil) == text.utf8.allSatisfy { $0 < 0x80 }, "seed \(seed)")
            #expect(same.hash ?? string.hash == string.hash, "seed \(seed)")
            #expect(!Self.readInPlace(NSString(string: text + "!"), string).areSurelyEqual, "seed \(seed)")
            #expect(!Self.readInPlace(NSNumber(value: text.count), string).areSurelyEqual, "seed \(seed)")
        }
        let near: [NSNumber] = [0, 1, -1, 7, -7, 1.5, 7.0, true]
        let numbers =
            near + [
                NSNumber(value: Int8.min), NSNumber(value: UInt16.max), NSNumber(value: Int32.min),
                NSNumber(value: Int32.max), NSNumber(value: UInt32.max), NSNumber(value: Int.min),
                NSNumber(value: UInt64.max), NSNumber(value: Float.nan), NSNumber(value: Double.nan),
            ]
        for left in numbers {
            #expect(Self.readInPlace(left, left).hash ?? left.hash == left.hash)
            for right in numbers where Self.readInPlace(left, right).areSurelyEqual {
                #expect(left.isEqual(to: right) && left.hash == right.hash)
            }
        }
        for value in [0, 1, -1, 100_000, 1 << 30, -1 << 31] {
            #expect(Self.readInPlace(NSNumber(value: value), NSNumber(value: value)).areSurelyEqual)
        }
    }

    @Test("A subclass of NSString finds what an equal NSString stored, and the other way round")
    func foreignStrings() {
        let cache = NSCache<NSString, Token>()
        for text in [
            "", "key", "a key that is too long for a small string", "naïve", String(repeating: "long/", count: 40),
        ] {
            let (own, foreign) = (NSString(string: text), Units(units: text))
            // What Foundation itself promises of such a class, without which nothing could be found.
            #expect(own.hash == foreign.hash && own.isEqual(foreign) && foreign.isEqual(own))
            cache.setObject(Token(1), forKey: own)
            #expect(cache.object(forKey: foreign)?.number == 1, "\(text)")
            cache.setObject(Token(2), forKey: foreign)
            #expect(cache.object(forKey: own)?.number == 2, "\(text)")
            cache.removeObject(forKey: foreign)
            #expect(cache.object(forKey: own) == nil, "\(text)")
        }
    }

    @Test("A subclass that compares in its own way is asked")
    func caselessStrings() {
        let cache = NSCache<NSString, Token>()
        cache.setObject(Token(1), forKey: Caseless(units: "KEY"))
        #expect(cache.object(forKey: Caseless(units: "Key"))?.number == 1)
        #expect(cache.object(forKey: Caseless(units: "other")) == nil)
    }

    @Test("URLs of every kind hash as they say, and equal ones are found")
    func urls() {
        let base = URL(string: "https://example.com/a/b?c#d")
        let all: [() -> NSURL?] = [
            { NSURL(string: "https://example.com/image/1?size=2#x") },
            { NSURL(string: "HTTPS://Example.COM:443/%7Ea/../b//c") },
            { NSURL(string: "mailto:someone@example.com") }, { NSURL(string: "") }, { NSURL(string: "a b") },
            { NSURL(string: "https://exämple.com/ü?ß") }, { NSURL(string: "../x", relativeTo: base) },
            { NSURL(string: "", relativeTo: base) }, { NSURL(fileURLWithPath: "/tmp/a b/ü.txt") },
            { NSURL(fileURLWithPath: "relative/path", isDirectory: true) }, { NSURL(fileURLWithPath: "/") },
            { NSURL(dataRepresentation: Data([0x66, 0x6F, 0xFC]), relativeTo: nil) },
            { URL(string: "https://example.com/bridged")! as NSURL }, { URL(filePath: "/bridged") as NSURL },
            { NSURL(string: "https://example.com/" + String(repeating: "long/", count: 60)) },
        ]
        // Foundation makes no URL of some texts.
        let kinds = all.filter { $0() != nil }.map { make in { make()! } }
        #expect(kinds.count > 12)
        let cache = NSCache<NSURL, Token>()
        for (number, kind) in kinds.enumerated() {
            #expect(ObjectKey(object: kind()).hashValue == kind().hash, "\(kind())")
            cache.setObject(Token(number), forKey: kind())
        }
        for (number, kind) in kinds.enumerated() {
            #expect(cache.object(forKey: kind())?.number == number, "\(kind())")
        }
    }

    @Test("Numbers of all kinds are equal as isEqual says")
    func numbers() {
        let numbers: [NSNumber] = [
            0, 1, -1, 1.0, 1.5, true, false, NSNumber(value: UInt8(1)), NSNumber(value: Int8(-1)),
            NSNumber(value: Float(1.5)),
            NSNumber(value: UInt64.max), NSNumber(value: Int.max), NSNumber(value: Double.nan), NSNumber(value: 1e300),
            NSNumber(value: Double(Int.max)), NSNumber(value: -0.0),
        ]
        for left in numbers {
            for right in numbers where left !== right {
                let areEqual = ObjectKey(object: left) == ObjectKey(object: right)
                #expect(areEqual == left.isEqual(right), "\(type(of: left)) \(left), \(type(of: right)) \(right)")
            }
            #expect(ObjectKey(object: left).hashValue == left.hash)
        }
    }
}
