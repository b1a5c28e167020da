//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The kinds of keys that can be asked for.
enum KeyKind: String, CaseIterable {
    case integer, string
    case object = "class"
}

/// How an implementation gets its keys of one kind. All are made before any clock runs.
protocol KeyFactory {
    associatedtype Key: Hashable
    /// Whether callers make a key for each call: a lookup then brings a key that equals the stored one and is another.
    static var isMadeForEachCall: Bool { get }
    static func key(_ number: UInt64) -> Key
}

enum IntegerKeys: KeyFactory {
    static let isMadeForEachCall = false
    static func key(_ number: UInt64) -> UInt64 { number }
}

/// Integers for caches that take objects only.
enum NumberKeys: KeyFactory {
    static let isMadeForEachCall = false
    static func key(_ number: UInt64) -> NSNumber { NSNumber(value: number) }
}

enum StringKeys: KeyFactory {
    static let isMadeForEachCall = true

    /// 21 bytes, as `CaffeineBench.java` makes them; Swift holds up to 15 without an allocation.
    static func key(_ number: UInt64) -> String {
        String(unsafeUninitializedCapacity: 21) { bytes in
            _ = bytes.update(from: "user:".utf8)
            for place in 0..<16 {
                let digit = UInt8(number >> UInt64(60 - 4 * place) & 15)
                bytes[5 + place] = digit + (digit < 10 ? 48 : 87)
            }
            return 21
        }
    }
}

/// Strings for caches that take objects only.
enum NSStringKeys: KeyFactory {
    static let isMadeForEachCall = true
    static func key(_ number: UInt64) -> NSString { NSString(string: StringKeys.key(number)) }
}

enum ClassKeys: KeyFactory {
    /// A key of a service's own.
    final class Key: Hashable, Sendable {
        private let number: UInt64

        init(_ number: UInt64) { self.number = number }
        static func == (left: Key, right: Key) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    static let isMadeForEachCall = true
    static func key(_ number: UInt64) -> Key { Key(number) }
}
