//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How long the entries of a cache live, by its options.
@usableFromInline
struct LifetimePolicy<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// From the moment an entry is set, where nothing else is said.
    @usableFromInline let afterWrite: Duration?
    /// Whether ``lifetime(of:forKey:given:)`` has more to do than to fall back to ``afterWrite``.
    @usableFromInline let isVarying: Bool

    private let byEntry: (@Sendable (Key, Value) -> Duration?)?
    private let jitter: Double

    init(options: MemoryCacheOptions<Key, Value>) {
        afterWrite = options.expiresAfter
        byEntry = options.lifetime
        jitter = options.lifetimeJitter.isNaN ? 0 : min(max(options.lifetimeJitter, 0), 1)
        isVarying = byEntry != nil || jitter > 0
    }

    /// How long `value` may live from now: what the caller says, else what the options say of the entry, else of all
    /// entries, shortened by chance. Calls the user's closure; no lock may be held.
    @usableFromInline
    func lifetime(of value: Value, forKey key: Key, given: Duration?) -> Duration? {
        guard let lifetime = given ?? byEntry?(key, value) ?? afterWrite else { return nil }
        guard jitter > 0 else { return lifetime }
        // A product beyond what a duration holds would trap.
        return .nanoseconds(lifetime.saturatedNanoseconds) * (1 - jitter * Double.random(in: 0...1))
    }
}
