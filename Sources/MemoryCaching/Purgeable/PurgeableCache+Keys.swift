//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension PurgeableCache {
    /// The bits of an integer key of up to 64 bits; nil for all other keys. Decided at compile time where the key type
    /// is known.
    @inlinable
    @inline(__always)
    static func integerWord(of key: Key) -> UInt64? {
        if Key.self == Int.self { return UInt64(bitPattern: Int64(unsafeBitCast(key, to: Int.self))) }
        if Key.self == UInt64.self { return unsafeBitCast(key, to: UInt64.self) }
        if Key.self == Int64.self { return UInt64(bitPattern: unsafeBitCast(key, to: Int64.self)) }
        if Key.self == UInt.self { return UInt64(unsafeBitCast(key, to: UInt.self)) }
        if Key.self == UInt32.self { return UInt64(unsafeBitCast(key, to: UInt32.self)) }
        if Key.self == Int32.self { return UInt64(UInt32(bitPattern: unsafeBitCast(key, to: Int32.self))) }
        return nil
    }

    private static var isIntegerKeyed: Bool {
        Key.self == Int.self || Key.self == UInt64.self || Key.self == Int64.self || Key.self == UInt.self
            || Key.self == UInt32.self || Key.self == Int32.self
    }

    static func makeKeyStorage() -> KeyStorage? { isIntegerKeyed ? nil : KeySlots<Key>() }

    /// The hash of a key that is no integer: SipHash, seeded by the standard library.
    static func hashWord(of key: Key) -> UInt64 { UInt64(bitPattern: Int64(key.hashValue)) }

    var slots: KeySlots<Key> { unsafeDowncast(store.keys!, to: KeySlots<Key>.self) }

    @usableFromInline
    func bytes(forGeneralKey key: Key) -> [UInt8]? {
        store.bytes(word: Self.hashWord(of: key), matching: KeyValueMatching(key, in: slots))
    }

    func set(_ bytes: UnsafeRawBufferPointer, forKey key: Key) {
        if let word = Self.integerWord(of: key) {
            store.set(bytes, word: word, matching: WordMatching())
        } else {
            store.set(bytes, word: Self.hashWord(of: key), matching: KeyValueMatching(key, in: slots))
        }
    }
}

extension PurgeableStore {
    @usableFromInline
    func bytes(integer word: UInt64) -> [UInt8]? { bytes(word: word, matching: WordMatching()) }
}
