//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Foundation
import ForkSafety
import Synchronization
import Testing
import _CacheTestSupport

/// What holds for `NSCache` in the child of a fork that does not call exec.
@Suite struct NSCacheForkTests {
    /// 100 children of a process whose threads are in the middle of using one: each makes one of its own, with a limit
    /// and a delegate, and uses it.
    @Test func aChildMakesCachesOfItsOwn() async {
        await #expect(processExitsWith: .success) {
            let parent = CacheInUse()
            // What the Swift runtime makes at the first use, it makes under locks of its own, which no child can get.
            parent.use(rounds: 300)
            let hasStopped = Atomic(false)
            let rounds = Atomic(0)
            let ended = Atomic(0)
            for _ in 0..<3 {
                Thread.detachNewThread {
                    while !hasStopped.load(ordering: .relaxed) {
                        parent.use(rounds: 20)
                        rounds.add(1, ordering: .relaxed)
                    }
                    ended.add(1, ordering: .releasing)
                }
            }
            while rounds.load(ordering: .relaxed) < 30 { usleep(1000) }
            for child in 0..<100 {
                let status = statusOfChild {
                    let own = CacheInUse()
                    own.use(rounds: 50)
                    if !own.isRight || own.count > CacheInUse.limit { _exit(1) }
                }
                #expect(status == 0, "child \(child): \(status == statusOfHungChild ? "hung" : "crashed or wrong")")
            }
            hasStopped.store(true, ordering: .relaxed)
            while ended.load(ordering: .acquiring) < 3 { usleep(1000) }
            #expect(parent.isRight && parent.count <= CacheInUse.limit)
        }
    }
}

/// A cache with values that follow from their keys, and a delegate that counts what leaves.
private final class CacheInUse: NSObject, NSCacheDelegate, @unchecked Sendable {
    // Sendable: the cache locks for itself, and the counts are atomic.
    static let limit = 1000

    private final class Key: NSObject {
        let number: Int
        init(_ number: Int) { self.number = number }
        override var hash: Int { number }
        override func isEqual(_ object: Any?) -> Bool { (object as? Key)?.number == number }
    }

    private final class Value {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    private let cache = NSCache<Key, Value>()
    private let wrong = Atomic(0)
    private let turn = Atomic(0)
    private let stored = Atomic(0)
    private let left = Atomic(0)

    override init() {
        super.init()
        cache.countLimit = Self.limit
        cache.delegate = self
    }

    var isRight: Bool { wrong.load(ordering: .relaxed) == 0 }
    /// Objects that have come and not left.
    var count: Int { stored.load(ordering: .relaxed) - left.load(ordering: .relaxed) }

    func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) {
        left.add(1, ordering: .relaxed)
    }

    func use(rounds: Int) {
        for _ in 0..<rounds {
            let first = turn.add(1, ordering: .relaxed).newValue * 50
            for number in first..<first + 50 {
                cache.setObject(Value(number), forKey: Key(number), cost: number % 7)
                stored.add(1, ordering: .relaxed)
                if let found = cache.object(forKey: Key(number - 20)), found.number != number - 20 {
                    wrong.add(1, ordering: .relaxed)
                }
            }
            cache.removeObject(forKey: Key(first))
        }
    }
}
#endif
