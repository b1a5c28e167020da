//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

internal import ForkSafety
public import Foundation
package import MemoryCaching

/// A cache of objects by keys that gives them up when its limits, or the memory of the process, ask for it.
///
/// ```swift
/// let thumbnails = NSCache<NSURL, NSData>()
/// thumbnails.countLimit = 1_000
/// thumbnails.setObject(image, forKey: url, cost: image.length)
/// if let image = thumbnails.object(forKey: url) { … }
/// ```
///
/// It behaves as Apple documents its own, and where Apple leaves a choice it makes the one that surprises least:
///
/// - Limits hold strictly, as soon as any call returns. The newcomer is in and what was used least recently is evicted:
///   exactly that until the cache has held more than 4,096 objects, afterwards one of the oldest tenth. A lookup of a
///   key that is not there counts as a use of one that has the very same hash and is compared by foreign code. An
///   object that alone costs more than ``totalCostLimit`` leaves at once and pushes nobody out. Objects of cost 0 are
///   never evicted to satisfy a limit on cost. Negative costs count as 0, negative limits as none, and sums never
///   overflow.
/// - Keys are retained, not copied, and compared by `isEqual(_:)` and `hash`, by `==` if their class is `Hashable`, by
///   identity otherwise. The hash is computed once, when the key is given: a key that changes while it is in the cache
///   may not be found, and still leaves when its time comes.
/// - The ``delegate`` is told exactly once about each object that leaves: evicted, removed, replaced by another. Then
///   `discardContentIfPossible()` is called on an object with discardable content, then the cache lets go of it. No
///   lock is held at any of these moments, nor while keys are hashed and compared: all of them may use the cache.
/// - When memory is said to run short, by a signal or because the process is about to reach its limit, the cache gives up
///   discardable content that nobody accesses first, all of it, then what has been used least. Where it only makes room
///   for insertions or for announced memory, objects go in order of use, whatever their content.
/// - Every member may be used from any thread. A cache whose keys and objects are `Sendable` is `Sendable`.
///
/// Objects may adopt ``NSDiscardableContent`` or the native `DiscardableContent`: a `PurgeableBytes` can be an object.
///
/// - Complexity: O(1) for ``object(forKey:)``, ``setObject(_:forKey:cost:)`` and ``removeObject(forKey:)``, amortised
///   over the objects that a call evicts; O(*n*) in the keys that have the same `hash`.
/// - SeeAlso: Apple, `NSCache`.
//
// The class is a face: storage, order, limits and pressure are the engine's. Keys and objects are single references
// whatever their classes, so one engine, specialised in this module, serves every `NSCache`: a call through the open
// class's dispatch table would otherwise run unspecialised generic code, at a third of the speed.
open class NSCache<KeyType: AnyObject, ObjectType: AnyObject>: NSObject {
    final let engine = ObjectEngine(ordering: .reuse, hooks: .discardableObjects, governor: .shared)
    private final let keyInPlace = KeyInPlace.shared
    private let link = ForkSafeMutex<DelegateLink?>(nil)

    /// Makes an empty cache without limits.
    public override init() {}

    // MARK: Objects

    /// The object for `key`, if the cache has one; counts as a use of it.
    ///
    /// An object whose content has been discarded leaves the cache and is not returned, unless
    /// ``evictsObjectsWithDiscardedContent`` is off.
    open func object(forKey key: KeyType) -> ObjectType? {
        let keyInPlace = keyInPlace
        guard let hash = keyInPlace.pointee.hash(key) else { return objectAskingKey(key) }
        guard
            let object = engine.value(
                forKey: ObjectKey(object: key),
                hashValue: hash,
                isSurelyEqual: { keyInPlace.pointee.areSurelyEqual(key, $0) }
            )
        else { return nil }
        return unsafeDowncast(object, to: ObjectType.self)
    }

    /// ``object(forKey:)`` for a key that must be asked for its hash.
    @inline(never)
    private final func objectAskingKey(_ key: KeyType) -> ObjectType? {
        guard let object = engine.value(forKey: ObjectKey(object: key)) else { return nil }
        return unsafeDowncast(object, to: ObjectType.self)
    }

    /// Stores `obj` for `key`, at a cost of 0.
    open func setObject(_ obj: ObjectType, forKey key: KeyType) {
        setObject(obj, forKey: key, cost: 0)
    }

    /// Stores `obj` for `key`, in place of an object stored before, and evicts others where the limits ask for it.
    ///
    /// - Parameters:
    ///   - obj: the object to keep.
    ///   - key: the key, which the cache retains and does not copy.
    ///   - g: what the object costs, in whatever unit ``totalCostLimit`` has, bytes by convention; less than 0 counts
    ///     as 0. An object that costs more than the limit leaves again at once.
    open func setObject(_ obj: ObjectType, forKey key: KeyType, cost g: Int) {
        engine.setValue(obj, forKey: ObjectKey(object: key), cost: g)
    }

    /// Removes the object for `key`, if there is one.
    open func removeObject(forKey key: KeyType) {
        engine.removeValue(forKey: ObjectKey(object: key))
    }

    /// Removes every object.
    open func removeAllObjects() {
        engine.removeAll()
    }

    /// What the cache has done so far, and what it holds: for the package's own tools, as Apple's class has no such.
    package final var statistics: CacheStatistics { engine.statistics }

    // MARK: Settings

    /// The name of the cache, for people; empty by default.
    open var name: String {
        get { engine.name }
        set { engine.name = newValue }
    }

    /// The most objects that the cache holds; 0, the default, or less is no limit. Lowering it evicts at once.
    open var countLimit: Int {
        get { engine.countLimit }
        set { engine.countLimit = newValue }
    }

    /// The most that the objects' costs may add up to; 0, the default, or less is no limit. Lowering it evicts at once.
    open var totalCostLimit: Int {
        get { engine.totalCostLimit }
        set { engine.totalCostLimit = newValue }
    }

    /// Whether objects leave the cache when their content has been discarded; `true` by default.
    ///
    /// Says nothing about objects whose content is there: those leave when limits and pressure ask for it either way.
    open var evictsObjectsWithDiscardedContent: Bool {
        get { engine.evictsValuesWithDiscardedContent }
        set { engine.evictsValuesWithDiscardedContent = newValue }
    }

    /// Is told about every object that leaves, except when the cache itself goes; not retained.
    open var delegate: (any NSCacheDelegate)? {
        get { link.withLock { $0 }?.delegate }
        set {
            let newLink = newValue.map { DelegateLink(delegate: $0, cache: self) }
            link.withLock { link in
                engine.removalObserver = newLink.map { link in { _, object, _ in link.tell(object) } }
                link = newLink
            }
        }
    }
}

/// The engine of every `NSCache`, whatever its classes.
typealias ObjectEngine = CacheEngine<ObjectKey, AnyObject>

// Keys and objects cross threads with the cache, so both must be Sendable; all state is behind the engine's locks.
extension NSCache: @unchecked Sendable where KeyType: Sendable, ObjectType: Sendable {}

#endif
