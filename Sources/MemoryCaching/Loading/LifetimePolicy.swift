//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How long the entries of a cache live, by its options. A class, because each set copied all of a structure: sets that
/// evict took 2.5 % longer.
@usableFromInline
final class LifetimePolicy<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// From the moment an entry is set, where nothing else is said.
    @usableFromInline let afterWrite: Duration?
    /// Whether a lifetime depends on the entry or on chance.
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
    /// entries, shortened by chance. May call the user's closure; no lock may be held.
    ///
    /// - Parameter value: made only where the options look at it.
    @inlinable
    @inline(__always)
    func lifetime(of value: @autoclosure () -> Value, forKey key: Key, given: Duration?) -> Duration? {
        isVarying ? varyingLifetime(of: value(), forKey: key, given: given) : given ?? afterWrite
    }

    /// The same where it depends on the entry or on chance. Calls the user's closure.
    @usableFromInline
    func varyingLifetime(of value: Value, forKey key: Key, given: Duration?) -> Duration? {
        guard let lifetime = given ?? byEntry?(key, value) ?? afterWrite else { return nil }
        guard jitter > 0 else { return lifetime }
        // A product beyond what a duration holds would trap.
        return .nanoseconds(lifetime.saturatedNanoseconds) * (1 - jitter * Double.random(in: 0...1))
    }
}
