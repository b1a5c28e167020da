//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What a run keeps in its cache: keys by number, and values that say whose they are and which version.
protocol StressContent: SendableMetatype {
    associatedtype Key: Hashable & Sendable
    associatedtype Value: Sendable

    static func key(_ number: Int) -> Key
    static func value(_ number: Int, version: Int) -> Value
    /// The version of `value`; nil if it is not one of key `number`.
    static func version(of value: Value, _ number: Int) -> Int?
}

/// A value that is wrong once it has been deinitialised, so that a reader that holds a dead one sees it.
final class Tagged: Sendable {
    static let living = Atomic<Int>(0)

    let number: Int
    let version: Int
    // Written by the deinitialiser alone, which runs when nobody holds the object.
    private nonisolated(unsafe) var check: Int

    init(_ number: Int, _ version: Int) {
        (self.number, self.version) = (number, version)
        check = ~number ^ version &<< 20
        Self.living.add(1, ordering: .relaxed)
    }

    deinit {
        check = 0x0DEAD
        Self.living.subtract(1, ordering: .relaxed)
    }

    func version(of number: Int) -> Int? {
        self.number == number && check == ~number ^ version &<< 20 ? version : nil
    }
}

extension StressContent where Value == Tagged {
    static func value(_ number: Int, version: Int) -> Tagged { Tagged(number, version) }
    static func version(of value: Tagged, _ number: Int) -> Int? { value.version(of: number) }
}

/// Integers that are found by integers.
enum IntegerContent: StressContent {
    static func key(_ number: Int) -> Int { number }
    static func value(_ number: Int, version: Int) -> Int { version &<< 24 | number }
    static func version(of value: Int, _ number: Int) -> Int? { value & 0xFF_FFFF == number ? value &>> 24 : nil }
}

/// Trivial values of a cache line, found by integers: one in two parts says so.
enum WideContent: StressContent {
    struct Value: Sendable {
        var words: (Int, Int, Int, Int, Int, Int, Int, Int)
    }
    static func key(_ number: Int) -> Int { number }
    static func value(_ number: Int, version: Int) -> Value {
        let word = version &<< 24 | number
        return Value(words: (word, ~word, word, ~word, word, ~word, word, ~word))
    }
    static func version(of value: Value, _ number: Int) -> Int? {
        let isWhole = withUnsafeBytes(of: value.words) { bytes in
            let words = bytes.bindMemory(to: Int.self)
            return words.indices.allSatisfy { words[$0] == ($0 % 2 == 0 ? words[0] : ~words[0]) }
        }
        return isWhole ? IntegerContent.version(of: value.words.0, number) : nil
    }
}

/// Objects that are found by integers.
enum ObjectContent: StressContent {
    typealias Value = Tagged
    static func key(_ number: Int) -> Int { number }
}

/// Objects that are found by text of 40 bytes.
enum TextContent: StressContent {
    typealias Value = Tagged
    static func key(_ number: Int) -> String { "a/resource/of/some/host/number/\(100_000_000 + number)" }
}

/// Objects that are found by keys with an `==` and a hash of their own, eight of which are alike.
enum ForeignContent: StressContent {
    typealias Value = Tagged

    struct Key: Hashable, Sendable {
        let number: Int
        static func == (left: Self, right: Self) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number / 8) }
    }

    static func key(_ number: Int) -> Key { Key(number: number) }
}
