//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

@testable import TieredCaching

/// A tier over one in the process, which connects at once or when it is told to. What the test wants to happen before
/// an operation reaches the other tier happens in `before`.
final class ScriptedTier: RemoteTier {
    enum Operation { case read, acquire(LeaseTerms), fill, release, write, remove }

    /// Called with each operation about the key 1. What it returns is the answer to an acquisition, in place of the
    /// tier's.
    typealias Script = @Sendable (Operation, _ key: String) async throws -> LeaseAnswer?

    private let inner: InProcessTier
    private let subscriber = Mutex<(any RemoteTierSubscriber)?>(nil)
    private let isLate: Bool
    /// Whether what is not about the key 1, as the epoch, is refused.
    private let refusesOthers: Bool
    private let before: Script
    private let operations = Mutex<[(operation: Operation, isEntry: Bool, limit: Duration)]>([])
    /// How long each operation so far could take that was about the key 1.
    var limits: [Duration] { operations.withLock { $0.filter(\.isEntry).map(\.limit) } }
    /// How long the leases stand that were asked for, that of the epoch among them.
    var leaseTimes: [Duration] {
        operations.withLock { operations in
            operations.compactMap { if case .acquire(let terms) = $0.operation { terms.duration } else { nil } }
        }
    }

    init(
        _ inner: InProcessTier,
        isLate: Bool = false,
        refusesOthers: Bool = false,
        before: @escaping Script = { _, _ in nil }
    ) {
        self.inner = inner
        self.isLate = isLate
        self.refusesOthers = refusesOthers
        self.before = before
    }

    private func note(_ operation: Operation, _ key: String, _ limit: Duration) async throws -> LeaseAnswer? {
        let isEntry = key.hasSuffix(":1")
        operations.withLock { $0.append((operation, isEntry, limit)) }
        if refusesOthers, !isEntry { throw RemoteTierError.refused("") }
        return isEntry ? try await before(operation, key) : nil
    }

    /// Reports `event`, whatever the tier behind it does.
    func tell(_ event: RemoteTierEvent) { subscriber.withLock { $0 }?.receive(event) }

    func connect() { if let subscriber = subscriber.withLock({ $0 }) { inner.subscribe(subscriber) } }

    func subscribe(_ subscriber: any RemoteTierSubscriber) {
        // Kept only for later: the cache behind it keeps this tier.
        if isLate { self.subscriber.withLock { $0 = subscriber } } else { inner.subscribe(subscriber) }
    }

    func read(_ key: String, within limit: Duration) async throws -> RemoteValue? {
        _ = try await note(.read, key, limit)
        return try await inner.read(key, within: limit)
    }

    func acquire(_ key: String, _ terms: LeaseTerms, within limit: Duration) async throws -> LeaseAnswer {
        if let answer = try await note(.acquire(terms), key, limit) { return answer }
        return try await inner.acquire(key, terms, within: limit)
    }

    func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool {
        _ = try await note(.fill, key, limit)
        return try await inner.fill(key, with: bytes, lifetime: lifetime, lease: lease, within: limit)
    }

    func release(_ key: String, lease: LeaseToken, within limit: Duration) async throws {
        _ = try await note(.release, key, limit)
        try await inner.release(key, lease: lease, within: limit)
    }

    func write(_ key: String, _ bytes: [UInt8], lifetime: Duration, within limit: Duration) async throws {
        _ = try await note(.write, key, limit)
        try await inner.write(key, bytes, lifetime: lifetime, within: limit)
    }

    func remove(_ key: String, within limit: Duration) async throws {
        _ = try await note(.remove, key, limit)
        try await inner.remove(key, within: limit)
    }
}
