//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The course of one miss as a pure value: what the remote tier and the origin did goes in, what to do next comes out.
///
/// What holds on every course:
///
/// - The waiters are answered exactly once.
/// - The origin is asked at most once, and only with the lease in hand, or after the remote tier has failed or has no
///   room.
/// - What the origin returned goes to the remote tier only under the lease that was granted before the load began. The
///   tier refuses it if the key has changed since, so an old load never replaces a newer value.
/// - A lease that may have been granted ends with a fill that stored or with a release, unless the remote tier fails.
/// - A value is kept near only if the remote tier handed it out or took it in.
/// - A stale value is the answer only where the origin fails too, or a soft timeout has passed; and only one that the
///   remote tier still had, or, where the tier fails, one that is still near.
package struct MissMachine<Value> {
    /// What happened.
    package enum Event {
        /// The remote tier has a fresh value.
        case found(Value)
        /// The remote tier has no fresh value.
        case absent
        /// The remote tier has bytes that are no value.
        case undecodable([UInt8])
        /// This miss may make the value.
        case granted(stale: Value?)
        /// Another process makes the value.
        case held(stale: Value?)
        /// The remote tier has no memory left.
        case full
        /// The remote tier cannot be asked, has failed, or has not answered in time. `stale` is what is still near, and
        /// `mayHoldLease` says that a lease may have been granted all the same.
        case failed(stale: Value?, mayHoldLease: Bool)
        /// As `failed`, where only the answer is late: a stale value comes before the origin then.
        case slow(stale: Value?, mayHoldLease: Bool)
        /// The key has changed, or it is time to ask anew: nothing from before the wait is in hand any more.
        case woken
        /// The origin has returned a value.
        case loaded(Value)
        /// The origin has failed.
        case loadFailed(any Error)
        /// What is waited for, the origin or the process that holds the lease, takes longer than the soft timeout.
        case loadIsSlow
        /// The remote tier has stored the value that was loaded; `false` if it refused or failed.
        case filled(Bool)
    }

    /// What to do next.
    package enum Step {
        /// Ask the remote tier for the value.
        case read
        /// Ask the remote tier for the value or the lease; `unusable` bytes count as no value.
        case acquire(unusable: [UInt8]?)
        /// Wait until the key changes.
        case wait
        /// Ask the origin, or go on waiting for it.
        case load
        /// Store the value under the lease.
        case fill(Value)
        /// Give the lease back.
        case release
        /// Keep the value near.
        case keep(Value)
        /// Answer the waiters.
        case land(Value)
        /// Answer the waiters with a value that is no longer fresh.
        case landStale(Value)
        /// Answer the waiters with an error.
        case fail(any Error)
    }

    /// Whether this miss has the lease.
    package private(set) var isLeased = false
    private var hasLanded = false
    private var hasReplaced = false
    private var stale: Value?
    private var loaded: Value?

    package init() {}

    /// Whether a stale value stands ready for waiters, so that it matters when a load takes long.
    package var hasStale: Bool { stale != nil && !hasLanded }

    /// The key has been changed on purpose: what was stored before is no fallback any more.
    package mutating func keyChanged() { stale = nil }

    /// What to do, in this order, after `event`. The course is over when there is nothing to do.
    package mutating func next(_ event: Event) -> [Step] {
        switch event {
        case .found(let value):
            return [.keep(value)] + land(value)
        case .absent, .woken:
            // The answer brings the stale value again if it is still stored.
            stale = nil
            return [.acquire(unusable: nil)]
        case .undecodable(let bytes):
            // Once: what stores such bytes again is a program that means them.
            if hasReplaced { return [.load] }
            hasReplaced = true
            return [.acquire(unusable: bytes)]
        case .granted(let stale):
            self.stale = stale
            isLeased = true
            return [.load]
        case .held(let stale):
            self.stale = stale
            return [.wait]
        case .full:
            return [.load]
        case .failed(let stale, let mayHoldLease):
            self.stale = stale
            return (mayHoldLease ? [.release] : []) + [.load]
        case .slow(let stale, let mayHoldLease):
            self.stale = stale
            return (mayHoldLease ? [.release] : []) + (stale == nil ? [.load] : landStale())
        case .loadIsSlow:
            return landStale() + (isLeased || stale == nil ? [.load] : [])
        case .loaded(let value):
            loaded = value
            return isLeased ? [.fill(value)] : land(value)
        case .filled(let isStored):
            guard let loaded else { return [] }
            // Whatever kept the value out may have left the lease standing.
            return (isStored ? [.keep(loaded)] : [.release]) + land(loaded)
        case .loadFailed(let error):
            let release: [Step] = isLeased ? [.release] : []
            if stale != nil { return release + landStale() }
            if hasLanded { return release }
            hasLanded = true
            return release + [.fail(error)]
        }
    }

    private mutating func land(_ value: Value) -> [Step] {
        defer { hasLanded = true }
        return hasLanded ? [] : [.land(value)]
    }

    private mutating func landStale() -> [Step] {
        guard let stale, !hasLanded else { return [] }
        hasLanded = true
        return [.landStale(stale)]
    }
}

extension MissMachine: Equatable, Hashable where Value: Hashable {}
