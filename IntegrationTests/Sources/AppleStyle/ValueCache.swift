//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The wrapper that many projects write around `NSCache`, to have Swift values in it and to know its keys.
final class ValueCache<Key: Hashable, Value> {
    private let wrapped = NSCache<WrappedKey, Entry>()
    private let keyTracker = KeyTracker()
    private let now: () -> Date
    private let lifetime: TimeInterval

    init(lifetime: TimeInterval, maximumEntryCount: Int, now: @escaping () -> Date = Date.init) {
        self.now = now
        self.lifetime = lifetime
        wrapped.countLimit = maximumEntryCount
        wrapped.delegate = keyTracker
    }

    var keys: Set<Key> { keyTracker.keys }

    func insert(_ value: Value, forKey key: Key) {
        let entry = Entry(key: key, value: value, expirationDate: now().addingTimeInterval(lifetime))
        wrapped.setObject(entry, forKey: WrappedKey(key))
        keyTracker.keys.insert(key)
    }

    func value(forKey key: Key) -> Value? {
        guard let entry = wrapped.object(forKey: WrappedKey(key)) else { return nil }
        guard now() < entry.expirationDate else {
            removeValue(forKey: key)
            return nil
        }
        return entry.value
    }

    func removeValue(forKey key: Key) {
        wrapped.removeObject(forKey: WrappedKey(key))
    }

    private final class WrappedKey: NSObject {
        let key: Key

        init(_ key: Key) { self.key = key }

        override var hash: Int { return key.hashValue }

        override func isEqual(_ object: Any?) -> Bool {
            guard let value = object as? WrappedKey else { return false }
            return value.key == key
        }
    }

    private final class Entry {
        let key: Key
        let value: Value
        let expirationDate: Date

        init(key: Key, value: Value, expirationDate: Date) {
            self.key = key
            self.value = value
            self.expirationDate = expirationDate
        }
    }

    private final class KeyTracker: NSObject, NSCacheDelegate {
        var keys = Set<Key>()

        func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject object: Any) {
            guard let entry = object as? Entry else { return }
            keys.remove(entry.key)
        }
    }
}

/// An extension of the cache, and a delegate that implements nothing.
extension NSCache where KeyType == NSString, ObjectType == NSData {
    func data(named name: String, orElse make: () -> Data) -> Data {
        if let data = object(forKey: name as NSString) { return data as Data }
        let data = make()
        setObject(data as NSData, forKey: name as NSString, cost: data.count)
        return data
    }
}

final class IdleDelegate: NSObject, NSCacheDelegate {}
