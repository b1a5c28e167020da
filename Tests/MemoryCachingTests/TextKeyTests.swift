//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Text that is equal is one key: in whatever normal form it is, and wherever its bytes lie.
@Suite struct TextKeyTests {
    /// Of Debian's package `unicode-data`, which packs it.
    private static let normalizationTest = "/usr/share/unicode/NormalizationTest.txt"

    private static func unpacked() throws -> Data? {
        if let data = FileManager.default.contents(atPath: normalizationTest) { return data }
        let packed = normalizationTest + ".bz2"
        let tool = "/usr/bin/bzcat"
        guard FileManager.default.fileExists(atPath: packed), FileManager.default.isExecutableFile(atPath: tool) else {
            return nil
        }
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments = [packed]
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd()
        process.waitUntilExit()
        return data
    }

    /// The texts of a column of the file: scalars in hexadecimal, with spaces in between.
    private static func text(_ column: Substring) -> String {
        String(
            String.UnicodeScalarView(
                column.split(separator: " ").compactMap {
                    UInt32($0, radix: 16).flatMap(Unicode.Scalar.init)
                }
            )
        )
    }

    /// Pairs of texts that Unicode calls canonically equivalent, alone and inside text of other lengths.
    private static func canonicalPairs() throws -> [(String, String)]? {
        guard let data = try unpacked() else { return nil }
        var pairs: [(String, String)] = []
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") where line.contains(";") {
            if line.hasPrefix("#") || line.hasPrefix("@") { continue }
            let columns = line.split(separator: ";", omittingEmptySubsequences: false).prefix(5).map(text)
            try #require(columns.count == 5)
            // NFC and NFD of the source; NFKC and NFKD are equivalent to each other, and to the source only in meaning.
            pairs += [(columns[0], columns[1]), (columns[0], columns[2]), (columns[3], columns[4])]
        }
        // The same scalars prove nothing, and this library's Unicode may be older than the file.
        pairs.removeAll { $0.unicodeScalars.elementsEqual($1.unicodeScalars) || $0 != $1 }
        return pairs.enumerated().flatMap { index, pair in
            let other = String(repeating: "x", count: index % 40)
            return [pair, (other + pair.0 + "/tail", other + pair.1 + "/tail")]
        }
    }

    @Test func canonicallyEqualTextIsOneKey() throws {
        guard let pairs = try Self.canonicalPairs() else {
            return print("SKIPPED: no \(Self.normalizationTest); Debian's packages unicode-data and bzip2 give it")
        }
        #expect(pairs.count > 50_000)
        let cache = MemoryCache<String, Int>()
        let parts = MemoryCache<Substring, Int>()
        let purgeable = PurgeableCache<String>()
        for (number, (left, right)) in pairs.enumerated() {
            func check(_ holds: Bool, _ what: StaticString) {
                if !holds { Issue.record("\(what): \(left.unicodeScalars.map(\.value))") }
            }
            cache.setValue(number, forKey: left)
            check(cache.value(forKey: right) == number, "not found")
            cache.setValue(-number, forKey: right)
            check(cache.value(forKey: left) == -number && cache.count == 1, "not replaced")
            check(cache.removeValue(forKey: left) == -number && cache.count == 0, "not removed")

            parts.setValue(number, forKey: left[...])
            check(parts.removeValue(forKey: right[...]) == number, "not found as a part")

            purgeable.setBytes([1], forKey: left)
            check(purgeable.bytes(forKey: right) == [1], "not found in purgeable memory")
            purgeable.setBytes([2], forKey: right)
            check(purgeable.bytes(forKey: left) == [2] && purgeable.count == 1, "not replaced there")
            check(purgeable.removeBytes(forKey: left) && purgeable.count == 0, "not removed there")
        }
    }

    /// The scalars whose canonical decomposition is ASCII, and what it is.
    private static let ofASCII = ["\u{212A}": "K", "\u{037E}": ";", "\u{1FEF}": "`"]

    @Test func oneScalarInsideASCII() {
        for length in 0...200 {
            for place in Set([0, length / 2, length]) {
                let (head, tail) = (String(repeating: "a", count: place), String(repeating: "b", count: length - place))
                for (scalar, equal) in Self.ofASCII {
                    let cache = MemoryCache<String, Int>()
                    cache.setValue(1, forKey: head + equal + tail)
                    #expect(cache.value(forKey: head + scalar + tail) == 1)
                    #expect(cache.value(forKey: head + scalar + scalar + tail) == nil)
                    #expect(cache.value(forKey: head + "é" + tail) == nil)
                    #expect(cache.removeValue(forKey: head + scalar + tail) == 1)
                }
            }
        }
    }

    /// The words of a text in all forms in which it can lie in memory.
    private func words(of text: String, _ seed: HashSeed) -> Set<UInt64> {
        // Room for more, so that even short text has storage of its own.
        var roomy = ""
        roomy.reserveCapacity(100)
        roomy += text
        let frame = "0123456789abcdef" + text + "tail"
        let part = frame.dropFirst(16).dropLast(4)
        let bytes = Array(text.utf8)
        return [
            seed.word(of: text), seed.word(of: roomy), seed.word(of: String(part)), seed.word(of: text[...]),
            seed.word(of: part), seed.word(of: String(decoding: bytes, as: UTF8.self)),
            seed.wordOfCopy(text)!, seed.wordOfCopy(part)!,
        ]
    }

    @Test func everyLengthAndEveryByteCounts() {
        let seed = UInt64.random(in: 0 ... .max)
        print("TextKeyTests.everyLengthAndEveryByteCounts: seed \(seed)")
        var random = SplitMix64(seed: seed)
        let hashSeed = HashSeed(word: random.next())
        var all: Set<UInt64> = []
        for length in 0...200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0..<128, using: &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            let words = words(of: text, hashSeed)
            #expect(words.count == 1, "length \(length)")
            #expect(all.isDisjoint(with: words), "length \(length)")
            all.formUnion(words)
            for place in 0..<length {
                var changed = bytes
                changed[place] ^= 1 << UInt8.random(in: 0..<7, using: &random)
                let words = self.words(of: String(decoding: changed, as: UTF8.self), hashSeed)
                #expect(words.count == 1, "length \(length), byte \(place)")
                #expect(all.isDisjoint(with: words), "length \(length), byte \(place)")
                all.formUnion(words)
            }
        }
    }

    @Test(arguments: [512, 513, 4097, 1 << 20])
    func longText(length: Int) {
        let cache = MemoryCache<String, Int>()
        let purgeable = PurgeableCache<String>()
        let text = String(repeating: "ab", count: length / 2) + (length % 2 == 0 ? "" : "c")
        for (number, tail) in ["", "x", "K", "\u{E9}"].enumerated() {
            cache.setValue(number, forKey: text + tail)
            purgeable.setBytes([UInt8(number)], forKey: text + tail)
        }
        for (number, tail) in ["", "x", "\u{212A}", "e\u{301}"].enumerated() {
            #expect(cache.value(forKey: text + tail) == number)
            #expect(purgeable.bytes(forKey: text + tail) == [UInt8(number)])
            #expect(cache.value(forKey: "y" + text + tail) == nil)
        }
        #expect(cache.count == 4 && purgeable.count == 4)
    }

    /// Short text of few letters, so that equal keys come often, many of them in different normal forms.
    private func randomText(using random: inout SplitMix64) -> String {
        let pieces = [
            "a", "K", ";", "`", "\u{212A}", "\u{037E}", "\u{1FEF}", "\u{E9}", "e\u{301}", "e", "\0", "0123456789abcdef",
        ]
        // Half of all texts are ASCII but for the three scalars.
        let choice = Bool.random(using: &random) ? pieces.filter { !$0.contains("\u{E9}") } : pieces
        return (0..<Int.random(in: 0...4, using: &random)).map { _ in choice.randomElement(using: &random)! }.joined()
    }

    @Test func agreesWithADictionary() {
        let seed = UInt64.random(in: 0 ... .max)
        print("TextKeyTests.agreesWithADictionary: seed \(seed)")
        var random = SplitMix64(seed: seed)
        let cache = MemoryCache<String, Int>()
        let purgeable = PurgeableCache<String>()
        var model: [String: Int] = [:]
        for step in 0..<40_000 {
            let key = randomText(using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                cache.setValue(step, forKey: key)
                withUnsafeBytes(of: step) { _ = purgeable.setBytes($0, forKey: key) }
                model[key] = step
            case 1:
                let removed = model.removeValue(forKey: key)
                #expect(cache.removeValue(forKey: key) == removed, "seed \(seed), step \(step)")
                #expect(purgeable.removeBytes(forKey: key) == (removed != nil), "seed \(seed), step \(step)")
            default:
                let bytes = purgeable.bytes(forKey: key)
                #expect(cache.value(forKey: key) == model[key], "seed \(seed), step \(step)")
                #expect(bytes?.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } == model[key], "seed \(seed)")
            }
        }
        #expect(cache.count == model.count && purgeable.count == model.count, "seed \(seed)")
    }
}
