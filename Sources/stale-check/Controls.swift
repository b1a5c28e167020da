//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import MemoryCaching
import Synchronization
import TieredCaching
import ValkeyCaching

/// What not to do: a near cache whose fill does not ask whether a report has come meanwhile.
final class CarelessCache: RemoteTierSubscriber {
    let values = MemoryCache<String, UInt64>()

    func receive(_ event: RemoteTierEvent) {
        switch event {
        case .invalidated(let keys): for key in keys { values.removeValue(forKey: key) }
        case .connected, .flushed, .lost: values.removeAll()
        case .alive, .tick: break
        }
    }
}

/// What not to do: reports that pass through the cooperative pool on their way to the near cache.
final class PooledSubscriber: RemoteTierSubscriber {
    private let events: AsyncStream<RemoteTierEvent>.Continuation

    init(_ subscriber: any RemoteTierSubscriber) {
        let (stream, continuation) = AsyncStream<RemoteTierEvent>.makeStream()
        events = continuation
        Task { for await event in stream { subscriber.receive(event) } }
    }

    func receive(_ event: RemoteTierEvent) { events.yield(event) }
}

/// A tier whose subscribers are told through the pool.
final class PooledTier: RemoteTier {
    private let tier: ValkeyTier
    private let kept: Mutex<[PooledSubscriber]> = Mutex([])

    init(_ tier: ValkeyTier) { self.tier = tier }

    func subscribe(_ subscriber: any RemoteTierSubscriber) {
        let pooled = PooledSubscriber(subscriber)
        kept.withLock { $0.append(pooled) }
        tier.subscribe(pooled)
    }

    func read(_ key: String, within limit: Duration) async throws -> RemoteValue? {
        try await tier.read(key, within: limit)
    }
    func acquire(_ key: String, _ terms: LeaseTerms, within limit: Duration) async throws -> LeaseAnswer {
        try await tier.acquire(key, terms, within: limit)
    }
    func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool {
        try await tier.fill(key, with: bytes, lifetime: lifetime, lease: lease, within: limit)
    }
    func release(_ key: String, lease: LeaseToken, within limit: Duration) async throws {
        try await tier.release(key, lease: lease, within: limit)
    }
    func write(_ key: String, _ bytes: [UInt8], lifetime: Duration, within limit: Duration) async throws {
        try await tier.write(key, bytes, lifetime: lifetime, within: limit)
    }
    func remove(_ key: String, within limit: Duration) async throws { try await tier.remove(key, within: limit) }
}
#endif
