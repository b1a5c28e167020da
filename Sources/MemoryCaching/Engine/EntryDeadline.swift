//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// When an entry's lifetime is over, in nanoseconds of the cache's clock.
@usableFromInline
struct EntryDeadline: Equatable, Sendable {
    /// When it is over unless the entry is used.
    @usableFromInline var next: Int64
    /// When it is over however often the entry is used; also what tells one life of a key from another.
    @usableFromInline var last: Int64
    /// Whether a refresh of the value has failed: its stale window has had its one.
    @usableFromInline var isRefreshTried = false

    @inlinable
    init(next: Int64, last: Int64) { (self.next, self.last) = (next, last) }

    /// The deadline of an entry that is set `now`: after its lifetime, or earlier if nobody uses it.
    @inlinable
    init(now: Int64, lifetime: Duration?, idleLifetime: Int64) {
        last = lifetime.map { Self.moment(max(0, $0.saturatedNanoseconds), after: now) } ?? .max
        next = min(last, Self.moment(idleLifetime, after: now))
    }

    /// No end.
    @inlinable static var never: EntryDeadline { EntryDeadline(next: .max, last: .max) }

    /// `nanoseconds`, which are no less than 0, before `now`; `.min` stays what it is, the moment at which nothing has
    /// expired, and no other moment becomes that.
    @inlinable
    static func before(_ now: Int64, by nanoseconds: Int64) -> Int64 {
        now == .min ? now : now < .min + 1 &+ nanoseconds ? .min + 1 : now &- nanoseconds
    }

    /// `nanoseconds` after `now`, or the last moment there is; the first where that is in the past.
    @inlinable
    static func moment(_ nanoseconds: Int64, after now: Int64) -> Int64 {
        let (moment, overflow) = now.addingReportingOverflow(nanoseconds)
        return overflow ? (nanoseconds < 0 ? .min : .max) : moment
    }
}
