//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import MemoryCaching
import Synchronization
import Testing
import TieredCaching
import _CacheTestSupport

/// Stops a lookup between its stamp and its insertion: in the hash of the key, which is user code.
private final class HashStop: Sendable {
    @TaskLocal static var current: HashStop?

    let reached = Gate()
    private let isArmed = Atomic<Bool>(false)
    private let goOn = DispatchSemaphore(value: 0)

    /// The next hash is that of the insertion.
    func arm() { isArmed.store(true, ordering: .releasing) }

    func stopHere() {
        guard isArmed.exchange(false, ordering: .acquiringAndReleasing) else { return }
        reached.open()
        goOn.wait()
    }

    func release() { goOn.signal() }
}

private struct StoppingKey: Hashable, LosslessStringConvertible, Sendable {
    let description: String
    init(_ description: String) { self.description = description }

    func hash(into hasher: inout Hasher) {
        HashStop.current?.stopHere()
        hasher.combine(description)
    }
}

/// Runs a task on threads of its own, so that one that is stopped takes none of the cooperative pool.
private final class OwnThreads: TaskExecutor {
    private let queue = DispatchQueue(label: "stopped lookups")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

@Suite("Flights that others displace")
struct DisplacedFlightTests {
    /// Two caches of one server, whose lookups stop between the answer of the remote tier and the insertion.
    private func stoppingCaches() async -> [TieredCache<StoppingKey, String>] {
        let server = InProcessServer()
        var options = TieredCacheOptions()
        options.softTimeout = .seconds(60)
        let caches = [server.makeTier(), server.makeTier()].map { tier in
            TieredCache<StoppingKey, String>(name: "cache", remote: tier, codec: .string, options: options) { _, _ in
                // Between the answer of the remote tier and the insertion.
                HashStop.current?.arm()
                return 1
            }
        }
        await yieldUntil { caches.allSatisfy(\.isCoherent) }
        return caches
    }

    /// A lookup that asks the remote tier alone, in a task that stops there.
    private func reading(_ cache: TieredCache<StoppingKey, String>, _ stop: HashStop) -> Task<String?, any Error> {
        HashStop.$current.withValue(stop) {
            Task(executorPreference: OwnThreads()) { try await cache.value(forKey: Self.key) }
        }
    }

    private static let key = StoppingKey("k")

    @Test("What a displaced lookup has read is not kept after a change", arguments: [true, false])
    func displaced(changedByItself: Bool) async throws {
        let caches = await stoppingCaches()
        let (here, there) = (caches[0], caches[1])
        let key = Self.key
        try await there.setValue("old", forKey: key)
        let stop = HashStop()
        let reading = reading(here, stop)
        await stop.reached.pass()
        // Another lookup displaces the first, which nobody may share, and ends before the change.
        #expect(try await here.value(forKey: key) { "not asked" } == "old")
        try await (changedByItself ? here : there).setValue("new", forKey: key)
        #expect(here.nearValue(forKey: key) == nil)
        stop.release()
        #expect(try await reading.value == "old")
        #expect(here.nearValue(forKey: key) == nil)
        #expect(try await here.value(forKey: key) { "not asked" } == "new")
    }
    @Test("What a lookup has read beside another one is not kept after a change that comes when that one has ended")
    func beside() async throws {
        let caches = await stoppingCaches()
        let (here, there) = (caches[0], caches[1])
        try await there.setValue("old", forKey: Self.key)
        let stops = [HashStop(), HashStop()]
        let first = reading(here, stops[0])
        await stops[0].reached.pass()
        // The first one has the key, and is told of changes: the second one is told of none.
        let second = reading(here, stops[1])
        await stops[1].reached.pass()
        stops[0].release()
        #expect(try await first.value == "old")
        try await there.setValue("new", forKey: Self.key)
        #expect(here.nearValue(forKey: Self.key) == nil)
        stops[1].release()
        #expect(try await second.value == "old")
        #expect(here.nearValue(forKey: Self.key) == nil)
    }
}
