//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import ForkSafety
import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What holds in the child of a fork that does not call exec.
@Suite struct ForkTests {
    /// 100 children of a process whose threads are in the middle of everything: each makes caches and values of its own
    /// and uses them with several threads.
    @Test func aChildMakesCachesOfItsOwn() async {
        await #expect(processExitsWith: .success) {
            let parent = CachesInUse()
            // What the Swift runtime makes at the first use, it makes under locks of its own, which no child can get.
            parent.use(rounds: 300)
            let hasStopped = Atomic(false)
            let rounds = Atomic(0)
            let threads = (0..<3).map { _ in
                Thread {
                    while !hasStopped.load(ordering: .relaxed) {
                        parent.use(rounds: 20)
                        rounds.add(1, ordering: .relaxed)
                    }
                }
            }
            while rounds.load(ordering: .relaxed) < 30 { usleep(1000) }
            for child in 0..<100 {
                let status = statusOfChild {
                    let own = CachesInUse()
                    let others = (0..<2).map { _ in Thread { own.use(rounds: 10) } }
                    own.use(rounds: 10)
                    for thread in others { thread.join() }
                    guard own.isRight else { _exit(1) }
                }
                #expect(status == 0, "child \(child): \(status == statusOfHungChild ? "hung" : "crashed or wrong")")
            }
            hasStopped.store(true, ordering: .relaxed)
            for thread in threads { thread.join() }
            #expect(parent.isRight)
        }
    }

    /// Values of the parent read as gone, and letting go of them and of the parent's caches does no harm.
    @Test func aChildLosesTheValuesOfItsParent() async {
        await #expect(processExitsWith: .success) {
            var value: PurgeableBytes? = PurgeableBytes(copying: [UInt8](repeating: 1, count: 1 << 16))
            var caches: CachesInUse? = CachesInUse()
            caches?.use(rounds: 300)
            let status = statusOfChild {
                guard value?.copyBytes() == nil else { _exit(1) }
                value = nil
                caches = nil
            }
            #expect(status == 0)
            #expect(value?.copyBytes()?.count == 1 << 16)
            withExtendedLifetime(caches) {}
        }
    }

    @Test func aLockThatStaysHeldStopsTheChildWithAMessage() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let lock = SharedLock()
            let isHeld = Atomic(false)
            let mayEnd = Atomic(false)
            let thread = Thread {
                lock.mutex.withLock { _ in
                    isHeld.store(true, ordering: .releasing)
                    while !mayEnd.load(ordering: .acquiring) { usleep(1000) }
                }
            }
            while !isHeld.load(ordering: .acquiring) { usleep(1000) }
            let status = statusOfChild { lock.mutex.withLock { $0 += 1 } }
            #expect(status != 0 && status & 0x7F != SIGKILL)
            mayEnd.store(true, ordering: .releasing)
            thread.join()
            #expect(lock.mutex.withLock { $0 } == 0)
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("Make caches anew in the child of a fork."), "\(errors)")
    }

    @Test func aShardThatStaysLockedStopsTheChildWithAMessage() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let memory = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 64) + 64
            let lock = ShardLock(guarding: memory)
            lock.initialize()
            lock.lock()
            let status = statusOfChild { lock.lock() }
            #expect(status != 0 && status & 0x7F != SIGKILL)
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("Make caches anew in the child of a fork."), "\(errors)")
    }

    @Test func aPurgeableCacheOfTheParentStopsTheChildWithAMessage() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let cache = PurgeableCache<Int>()
            cache.setBytes([1, 2, 3], forKey: 1)
            let status = statusOfChild { _ = cache.bytes(forKey: 1) }
            #expect(status != 0 && status & 0x7F != SIGKILL)
            #expect(cache.bytes(forKey: 1) == [1, 2, 3])
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("a PurgeableCache was made before this process was forked"), "\(errors)")
    }

    final class SharedLock: Sendable {
        let mutex = ForkSafeMutex(0)
    }
}

/// A cache of each kind with values that follow from their keys, and purgeable values beside them.
private final class CachesInUse: Sendable {
    private let memory = MemoryCache<Int, [UInt8]>(countLimit: 5000)
    private let purgeable = PurgeableCache<Int>(countLimit: 5000)
    private let wrong = Atomic(0)
    private let turn = Atomic(0)

    var isRight: Bool { wrong.load(ordering: .relaxed) == 0 }

    func use(rounds: Int) {
        for _ in 0..<rounds {
            let first = turn.add(1, ordering: .relaxed).newValue * 50
            for key in first..<first + 50 {
                let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: 500 + key % 1000)
                memory[key] = value
                purgeable.setBytes(value, forKey: key)
                if let found = memory[key - 20] { check(found, key - 20) }
                if let found = purgeable.bytes(forKey: key - 20) { check(found, key - 20) }
            }
            let value = PurgeableBytes(copying: [UInt8](repeating: 7, count: 1 << 14))
            if let bytes = value.copyBytes(), bytes.last != 7 { wrong.add(1, ordering: .relaxed) }
            // Looks at the memory of the process as a cache does that is short of it.
            if first % 1000 == 0 { MemoryReserve.withFree(bytes: 1 << 16) { _ in } }
        }
    }

    private func check(_ value: [UInt8], _ key: Int) {
        if value.count != 500 + key % 1000 || value.last != UInt8(truncatingIfNeeded: key) {
            wrong.add(1, ordering: .relaxed)
        }
    }
}

/// A thread that can be waited for.
private final class Thread: @unchecked Sendable {
    // Sendable: written once, by the initialiser.
    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () -> Void) {
        final class Work: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let error = pthread_create(
            &thread,
            nil,
            { work in
                Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
                return nil
            },
            Unmanaged.passRetained(Work(body)).toOpaque()
        )
        precondition(error == 0)
    }

    func join() { pthread_join(thread, nil) }
}
#endif
