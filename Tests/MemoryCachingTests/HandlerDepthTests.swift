//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Removal handlers that use the caches that they belong to.
@Suite("Removal handlers inside each other", .timeLimit(.minutes(10)))
struct HandlerDepthTests {
    /// Caches, and what their handlers were called for.
    private final class World: Sendable {
        struct State {
            var caches: [EitherCache<Int>] = []
            var keys: [Int] = []
            var depth = 0
            var deepest = 0
        }
        let state = Mutex(State())

        /// A cache whose handler does `body`, given the key that has left.
        func add(_ kind: CacheKind, _ body: @escaping @Sendable (Int, RemovalCause) -> Void) -> EitherCache<Int> {
            let options = MemoryCacheOptions<Int, Int>(
                removalHandler: { key, _, cause in
                    self.state.withLock { state in
                        state.keys.append(key)
                        state.depth += 1
                        state.deepest = max(state.deepest, state.depth)
                    }
                    body(key, cause)
                    self.state.withLock { $0.depth -= 1 }
                },
                evictsUnderMemoryPressure: false
            )
            let cache = EitherCache<Int>(kind, options: options)
            state.withLock { $0.caches.append(cache) }
            return cache
        }

        func cache(_ index: Int) -> EitherCache<Int> { state.withLock { $0.caches[index] } }
        var keys: [Int] { state.withLock(\.keys) }
        var deepest: Int { state.withLock(\.deepest) }
        /// The handlers hold on to the caches.
        func end() { state.withLock { $0.caches = [] } }
    }

    /// As many calls inside each other need more stack than there is.
    private static let count = 300_000

    @Test("A handler that puts back what a limit has evicted does not use up the stack", arguments: CacheKind.allCases)
    func putsBack(_ kind: CacheKind) {
        let world = World()
        let cache = world.add(kind) { key, _ in
            if world.keys.count < Self.count { world.cache(0)[key] = key }
        }
        cache.setCountLimit(2)
        for key in 0..<3 { cache[key] = key }
        #expect(world.keys.count == Self.count)
        #expect(world.deepest == Int(UserCode.mostLevels))
        #expect(cache.count == 2)
        world.end()
    }

    @Test("A handler that replaces its own value does not use up the stack", arguments: CacheKind.allCases)
    func replaces(_ kind: CacheKind) {
        let world = World()
        let cache = world.add(kind) { key, cause in
            if cause == .replaced, world.keys.count < Self.count { world.cache(0)[key] = world.keys.count }
        }
        cache[1] = -1
        cache[1] = 0
        #expect(world.keys.count == Self.count && world.deepest == Int(UserCode.mostLevels))
        #expect(cache[1] == Self.count - 1)
        world.end()
    }

    @Test("Caches of both kinds that hand over to each other what they evict do not use up the stack")
    func handOver() {
        let world = World()
        let kinds: [CacheKind] = [.memory, .purgeable, .purgeable, .memory]
        for (index, kind) in kinds.enumerated() {
            let cache = world.add(kind) { key, _ in
                if world.keys.count < Self.count { world.cache((index + 1) % 4)[key] = key }
            }
            cache.setCountLimit(1)
        }
        for key in 0..<5 { world.cache(0)[key] = key }
        #expect(world.keys.count == Self.count && world.deepest == Int(UserCode.mostLevels))
        #expect((0..<4).allSatisfy { world.cache($0).count == 1 })
        world.end()
    }

    @Test("What a handler refuses or removes is told before its own call returns", arguments: CacheKind.allCases)
    func toldInside(_ kind: CacheKind) {
        let world = World()
        let inside = Mutex<[[Int]]>([])
        let cache = world.add(kind) { key, _ in
            guard key < 3 else { return }
            world.cache(0).removeValue(forKey: key + 1)
            inside.withLock { $0.append(world.keys) }
        }
        for key in 0..<4 { cache[key] = key }
        cache.removeValue(forKey: 0)
        #expect(world.keys == [0, 1, 2, 3])
        #expect(inside.withLock { $0 } == Array(repeating: [0, 1, 2, 3], count: 3))
        world.end()
    }

    @Test("Beyond the deepest level all is told in the order in which it left", arguments: CacheKind.allCases)
    func orderBeyond(_ kind: CacheKind) {
        let world = World()
        let levels = Int(UserCode.mostLevels)
        let cache = world.add(kind) { key, _ in
            if key < levels - 1 {
                world.cache(0).removeValue(forKey: key + 1)
            } else if key == levels - 1 {
                // The deepest: of these, none is told before it returns.
                for other in 100..<110 { world.cache(0).removeValue(forKey: other) }
                #expect(world.keys.count == levels)
            } else if key == 103 {
                world.cache(0).removeValue(forKey: 200)
            }
        }
        for key in Array(0..<levels) + Array(100..<110) + [200] { cache[key] = key }
        cache.removeValue(forKey: 0)
        #expect(world.keys == Array(0..<levels) + Array(100..<110) + [200])
        #expect(world.deepest == levels)
        world.end()
    }
}
