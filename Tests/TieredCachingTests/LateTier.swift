//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

@testable import TieredCaching

/// A tier that connects when it is told to, and may answer one question itself.
final class LateTier: RemoteTier {
    private let inner: InProcessTier
    private let subscriber = Mutex<(any RemoteTierSubscriber)?>(nil)
    /// What the first acquisition is answered with.
    private let firstAnswer: Mutex<LeaseAnswer?>

    init(_ inner: InProcessTier, firstAnswer: LeaseAnswer? = nil) {
        self.inner = inner
        self.firstAnswer = Mutex(firstAnswer)
    }

    /// Reports `event`, whatever the tier behind it does.
    func tell(_ event: RemoteTierEvent) { subscriber.withLock { $0 }?.receive(event) }

    func connect() { if let subscriber = subscriber.withLock({ $0 }) { inner.subscribe(subscriber) } }

    func subscribe(_ subscriber: any RemoteTierSubscriber) { self.subscriber.withLock { $0 = subscriber } }

    func read(_ key: String, within limit: Duration) async throws -> RemoteValue? {
        try await inner.read(key, within: limit)
    }

    func acquire(_ key: String, _ terms: LeaseTerms, within limit: Duration) async throws -> LeaseAnswer {
        let isEntry = key.hasSuffix(":1")
        let answer = firstAnswer.withLock { answer in
            defer { if isEntry { answer = nil } }
            return isEntry ? answer : nil
        }
        if let answer { return answer }
        return try await inner.acquire(key, terms, within: limit)
    }

    func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool { try await inner.fill(key, with: bytes, lifetime: lifetime, lease: lease, within: limit) }

    func release(_ key: String, lease: LeaseToken, within limit: Duration) async throws {
        try await inner.release(key, lease: lease, within: limit)
    }

    func write(_ key: String, _ bytes: [UInt8], lifetime: Duration, within limit: Duration) async throws {
        try await inner.write(key, bytes, lifetime: lifetime, within: limit)
    }

    func remove(_ key: String, within limit: Duration) async throws { try await inner.remove(key, within: limit) }
}
