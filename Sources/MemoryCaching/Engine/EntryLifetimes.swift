//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// How long the entries of a cache live, beside the lifetimes that they are given, and by which clock. Both caches have
/// one.
@usableFromInline
struct EntryLifetimes: ~Copyable, Sendable {
    @usableFromInline let clock: LifetimeClock
    /// How long an entry lives after its last use, in nanoseconds; the largest where use does not count.
    @usableFromInline let idle: Int64
    /// How long an expired entry is kept as a fallback, in nanoseconds; 0 where none is.
    @usableFromInline let fallback: Int64
    /// Whether any entry ever had a lifetime: otherwise no clock is read.
    @usableFromInline let everUsed = Atomic<Bool>(false)

    /// - Parameters:
    ///   - clock: what lifetimes are measured by; nil for the continuous clock.
    ///   - idle: how long entries live after their last use; nil where use does not count.
    ///   - fallback: how long an expired entry is kept as a fallback; nil where none is.
    init(clock: (any Clock<Duration>)? = nil, idle: Duration? = nil, fallback: Duration? = nil) {
        self.clock = clock.map(LifetimeClock.init) ?? .continuous
        self.idle = max(0, idle?.saturatedNanoseconds ?? .max)
        self.fallback = max(0, fallback?.saturatedNanoseconds ?? 0)
    }

    @inlinable
    @inline(__always)
    var areUsed: Bool { everUsed.load(ordering: .relaxed) }

    /// The present moment; the smallest where the cache knows no lifetimes.
    @inlinable
    @inline(__always)
    var now: Int64 { areUsed ? clock.nanoseconds() : .min }

    /// The deadline up to which entries leave the cache at `now`. It lies behind `now` where expired entries are kept
    /// as fallbacks.
    @inlinable
    @inline(__always)
    func fallbackEnd(at now: Int64) -> Int64 { EntryDeadline.before(now, by: fallback) }

    /// The present moment, as ``now`` says it, and when the lifetime of an entry that is set now is over; nil for
    /// never.
    @inlinable
    @inline(__always)
    func beginning(_ lifetime: Duration?) -> (now: Int64, deadline: EntryDeadline?) {
        guard lifetime != nil || idle != .max else { return (now, nil) }
        // Written once: all threads read this line with each call.
        if !areUsed { everUsed.store(true, ordering: .relaxed) }
        let now = clock.nanoseconds()
        return (now, EntryDeadline(now: now, lifetime: lifetime, idleLifetime: idle))
    }

    /// Puts off the deadline of the entry at `slot`, which is used `now`, where use counts.
    @inlinable
    @inline(__always)
    func noteUse(of slot: UInt32, in wheel: TimerWheel?, at now: Int64) {
        if idle != .max { wheel?.postpone(slot, to: EntryDeadline.moment(idle, after: now)) }
    }
}
