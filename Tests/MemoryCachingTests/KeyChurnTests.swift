//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import Synchronization
import Testing

@testable import MemoryCaching

/// A key that is an object, and runs a hook when it is compared with another object. All have one hash.
private final class ObjectKey: Hashable, Sendable {
    struct Hook { var run: @Sendable () -> Void = {} }
    static let hook = Mutex(Hook())

    let number: Int
    init(_ number: Int = 1) { self.number = number }
    func hash(into hasher: inout Hasher) {}

    static func == (left: ObjectKey, right: ObjectKey) -> Bool {
        if left === right { return true }
        // Not once more by what the hook does itself.
        let hook = Self.hook.withLock { hook in
            defer { hook = Hook() }
            return hook
        }
        hook.run()
        Self.hook.withLock { $0 = hook }
        return left.number == right.number
    }
}

/// What both caches do with such keys.
private struct Face: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let set: @Sendable (ObjectKey, Int) -> Bool
    let get: @Sendable (ObjectKey) -> Int?
    let remove: @Sendable (ObjectKey) -> Bool
    let contains: @Sendable (ObjectKey) -> Bool
    let statistics: @Sendable () -> (count: Int, refusals: Int)

    static var memory: Face {
        let cache = MemoryCache<ObjectKey, Int>()
        return Face(
            testDescription: "MemoryCache",
            set: { cache.setValue($1, forKey: $0) },
            get: { cache.value(forKey: $0) },
            remove: { cache.removeValue(forKey: $0) != nil },
            contains: { cache.contains($0) },
            statistics: { (cache.count, cache.statistics.refusals) }
        )
    }

    static var purgeable: Face {
        let cache = PurgeableCache<ObjectKey>()
        return Face(
            testDescription: "PurgeableCache",
            set: { cache.setBytes([UInt8($1)], forKey: $0) },
            get: { cache.bytes(forKey: $0).map { Int($0[0]) } },
            remove: { cache.removeBytes(forKey: $0) },
            contains: { cache.contains($0) },
            statistics: { (cache.count, cache.statistics.refusals) }
        )
    }

    static var all: [Face] { [memory, purgeable] }
}

@Suite("Keys: entries that come and go while they are compared", .serialized, .timeLimit(.minutes(10)))
struct KeyChurnTests {
    private static func withHook(_ hook: @escaping @Sendable () -> Void, _ body: () -> Void) {
        ObjectKey.hook.withLock { $0.run = hook }
        body()
        ObjectKey.hook.withLock { $0 = ObjectKey.Hook() }
    }

    @Test("A key that gets another value with each comparison has one entry, which is found", arguments: Face.all)
    private func replacedByComparison(_ face: Face) {
        let stored = ObjectKey()
        #expect(face.set(stored, 1))
        let compared = Atomic<Int>(0)
        let replace: @Sendable () -> Void = {
            compared.wrappingAdd(1, ordering: .relaxed)
            #expect(face.set(stored, 2))
        }
        Self.withHook(replace) {
            #expect(face.get(ObjectKey()) != nil)
            #expect(face.contains(ObjectKey()))
            #expect(face.set(ObjectKey(), 3))
            #expect(face.get(stored) == 3)
            #expect(face.statistics().count == 1)
            #expect(face.remove(ObjectKey()))
        }
        #expect(compared.load(ordering: .relaxed) <= 10)
        #expect(!face.contains(stored))
        #expect(face.statistics() == (0, 0))
    }

    /// The comparisons wait until the other thread has set a value: each lasts as long as one replacement at least.
    @Test("A key whose value another thread replaces all the time is always there", arguments: Face.all)
    private func replacedByThread(_ face: Face) {
        let stored = ObjectKey()
        #expect(face.set(stored, 1))
        let isOver = Atomic<Bool>(false)
        let replaced = Atomic<Int>(0)
        let thread = DispatchWorkItem {
            while !isOver.load(ordering: .relaxed) {
                #expect(face.set(stored, 2))
                replaced.wrappingAdd(1, ordering: .releasing)
            }
        }
        DispatchQueue(label: "replaces").async(execute: thread)
        let wait: @Sendable () -> Void = {
            let before = replaced.load(ordering: .acquiring)
            while replaced.load(ordering: .acquiring) < before + 2 {}
        }
        Self.withHook(wait) {
            for _ in 0..<20 {
                #expect(face.get(ObjectKey()) != nil)
                #expect(face.set(ObjectKey(), 3))
                #expect(face.contains(ObjectKey()))
            }
            isOver.store(true, ordering: .relaxed)
            thread.wait()
        }
        #expect(face.statistics() == (1, 0))
    }

    /// A new object each time: nothing is known of it.
    @Test("A key that is removed and set anew with each comparison never has two entries", arguments: Face.all)
    private func setAnewByComparison(_ face: Face) {
        let newest = Mutex(ObjectKey())
        #expect(face.set(newest.withLock { $0 }, 1))
        let setAnew: @Sendable () -> Void = {
            newest.withLock {
                #expect(face.remove($0))
                $0 = ObjectKey()
                #expect(face.set($0, 2))
            }
        }
        Self.withHook(setAnew) {
            // What came last was set after this.
            #expect(!face.set(ObjectKey(), 3))
            _ = face.get(ObjectKey())
            _ = face.contains(ObjectKey())
        }
        #expect(face.statistics().count == 1)
        #expect(face.statistics().refusals >= 1)
        #expect(face.get(ObjectKey()) == 2)
        #expect(face.remove(ObjectKey()))
        #expect(!face.contains(ObjectKey()) && face.statistics().count == 0)
    }
}
