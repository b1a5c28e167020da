//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
public import Synchronization

/// The flights under way in one cache.
///
/// Flights are filed by the hash of their key, which is taken before the lock; keys are compared outside it, on a copy
/// of the few flights with that hash. A stamp on each bucket says whether its flights changed meanwhile, in which case
/// the search starts again, for the new ones. So neither `hash(into:)` nor `==` ever runs inside, however strange they
/// are: also where an `==` itself uses the cache.
@usableFromInline
final class FlightTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias OneFlight = Flight<Key, Value>

    /// Flights and permits under way. While it is 0, a removal or a set pays one load for the whole of loading.
    @usableFromInline let count = Atomic<Int>(0)

    private let buckets = ForkSafeMutex<[Int: Bucket]>([:])

    private struct Bucket {
        var flights: [OneFlight] = []
        /// Of values that callers make on their own threads.
        var permits: [Permit] = []
        /// Differs whenever the flights do; drawn from one counter for the table, so that it never repeats. Permits do
        /// not matter: nobody joins them.
        var stamp: UInt64 = 0
    }

    /// A ticket without a flight: nobody else waits for the value.
    struct Permit: Sendable {
        let key: Key
        let hash: Int
        let ticket: LoadTicket
    }

    private let stamps = Atomic<UInt64>(1)

    init() {}

    /// The flight of `key` that callers may share, or nil.
    func flight(of key: Key) -> OneFlight? {
        contents(key.hashValue).flights.first { $0.key == key && $0.isAdmitting }
    }

    /// What a caller that needs `key` is to do.
    enum Boarding {
        /// Wait for the flight that somebody else started.
        case joined(OneFlight, OneFlight.Waiter)
        /// Start the load: the flight is new, and others may be waiting for it already.
        case leads(OneFlight, OneFlight.Waiter)
    }

    /// Joins the flight of `key`, or opens one that belongs to the run that `makeRun` names.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - target: what the result of a new flight may be stored over.
    ///   - terms: what the caller can be told.
    ///   - failureType: what the load of a new flight may throw.
    ///   - isAgain: whether the caller has waited already for a load of somebody else whose end it could not be told
    ///     of. It does so once: from then on it joins only flights of whose errors it can be told, for others may fail
    ///     as often as they are tried.
    ///   - makeRun: makes the run of a new flight.
    func board<E: Error>(
        _ key: Key,
        for target: LoadTicket.Target = .absent,
        _ terms: WaiterTerms,
        throwing failureType: E.Type,
        isAgain: Bool = false,
        makeRun: () -> LoadRun
    ) -> Boarding {
        let hash = key.hashValue
        var verdicts = Verdicts()
        while true {
            let bucket = contents(hash)
            for flight in bucket.flights
            where verdicts.isEqual(flight, key) && !(isAgain && !flight.canTell(failureType)) {
                if let waiter = flight.join(terms) { return .joined(flight, waiter) }
            }
            let flight = OneFlight(key: key, hash: hash, run: makeRun(), for: target, throwing: failureType)
            guard let waiter = flight.join(terms) else { continue }
            if file(flight, ifUnchangedSince: verdicts.endRound(bucket.stamp)) { return .leads(flight, waiter) }
        }
    }

    /// Opens a flight without waiters for `key`, or answers nil if one is under way.
    func boardInBackground<E: Error>(
        _ key: Key,
        replacing deadline: Int64,
        throwing failureType: E.Type,
        makeRun: () -> LoadRun
    ) -> OneFlight? {
        let hash = key.hashValue
        var verdicts = Verdicts()
        while true {
            let bucket = contents(hash)
            if bucket.flights.contains(where: { verdicts.isEqual($0, key) && $0.isAdmitting }) { return nil }
            let target = LoadTicket.Target.stale(deadline: deadline)
            let flight = OneFlight(key: key, hash: hash, run: makeRun(), for: target, throwing: failureType)
            if file(flight, ifUnchangedSince: verdicts.endRound(bucket.stamp)) { return flight }
        }
    }

    /// A caller is about to make a value of `key` on its own thread.
    func openPermit(for key: Key) -> Permit {
        let permit = Permit(key: key, hash: key.hashValue, ticket: LoadTicket())
        buckets.withLock { buckets in
            buckets[permit.hash, default: Bucket()].permits.append(permit)
            count.add(1, ordering: .sequentiallyConsistent)
        }
        return permit
    }

    /// The value has been stored, or will not be.
    func close(_ permit: Permit) {
        edit(permit.hash) { bucket in bucket.permits.removeAll { $0.ticket === permit.ticket } }
    }

    /// The key changes: whatever is being loaded for it stays out of the cache.
    func revoke(_ key: Key) {
        let bucket = contents(key.hashValue)
        for flight in bucket.flights where flight.key == key { flight.revoke() }
        for permit in bucket.permits where permit.key == key { permit.ticket.revoke() }
    }

    /// The keys that `isInvalid` names change.
    func revokeAll(where isInvalid: (Key) -> Bool) {
        for bucket in buckets.withLock({ Array($0.values) }) {
            for flight in bucket.flights where isInvalid(flight.key) { flight.revoke() }
            for permit in bucket.permits where isInvalid(permit.key) { permit.ticket.revoke() }
        }
    }

    /// The flight has landed: forgets it and tells its waiters.
    func land(_ flight: OneFlight, _ outcome: FlightOutcome<Value>) {
        edit(flight.hash) { bucket in
            bucket.flights.removeAll { $0 === flight }
            bucket.stamp = nextStamp()
        }
        flight.land(outcome)
    }

    /// The flight needs no load: its value has turned up meanwhile, or there is nothing to refresh any more.
    func landUnloaded(_ flight: OneFlight, _ outcome: FlightOutcome<Value>) {
        flight.run.withdrawOne()
        land(flight, outcome)
    }

    /// Takes one flight or permit, which the caller holds, out of the bucket of `hash`.
    private func edit(_ hash: Int, _ remove: (inout Bucket) -> Void) {
        buckets.withLock { buckets in
            guard var bucket = buckets.removeValue(forKey: hash) else { return }
            remove(&bucket)
            if !(bucket.flights.isEmpty && bucket.permits.isEmpty) { buckets[hash] = bucket }
        }
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    private func contents(_ hash: Int) -> Bucket {
        buckets.withLock { $0[hash] ?? Bucket() }
    }

    /// What a search knows of the flights that it has compared, so that each is compared once. Not ``KeyVerdicts``:
    /// that goes by identities that never repeat, which addresses of flights do once these have landed.
    private struct Verdicts {
        /// Keeps the flights alive, by whose identities it goes.
        private var known: [ObjectIdentifier: (flight: OneFlight, isEqual: Bool)] = [:]
        private var rounds = 0

        mutating func isEqual(_ flight: OneFlight, _ key: Key) -> Bool {
            if let known = known[ObjectIdentifier(flight)] { return known.isEqual }
            let isEqual = flight.key == key
            known[ObjectIdentifier(flight)] = (flight, isEqual)
            return isEqual
        }

        /// The stamp that must still be the bucket's; nil where an `==` that itself starts loads of the same hash could
        /// go on for ever: at worst there are two loads of one key then.
        mutating func endRound(_ stamp: UInt64) -> UInt64? {
            rounds += 1
            return rounds > KeyHash<Key>.comparisonRounds ? nil : stamp
        }
    }

    /// - Parameter stamp: nil where it does not matter.
    private func file(_ flight: OneFlight, ifUnchangedSince stamp: UInt64?) -> Bool {
        buckets.withLock { buckets in
            var bucket = buckets[flight.hash] ?? Bucket()
            guard stamp == nil || bucket.stamp == stamp else { return false }
            flight.run.add()
            count.add(1, ordering: .sequentiallyConsistent)
            bucket.flights.append(flight)
            bucket.stamp = nextStamp()
            buckets[flight.hash] = bucket
            return true
        }
    }

    private func nextStamp() -> UInt64 {
        stamps.add(1, ordering: .relaxed).newValue
    }
}
