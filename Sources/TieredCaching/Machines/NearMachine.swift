//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a near cache may keep and serve, as a pure value: events of the remote tier and of callers go in, what is to be
/// revoked comes out. Its owner calls it inside a lock, takes the permission to keep from revoked flights inside that
/// lock too, and does the rest after it.
///
/// # The invariants, and why
///
/// 1. *Order.* A flight is filed here before its request is sent. A change of its key takes it out and revokes it. So
///    an answer that was sent before the change is never kept, whether the news of the change comes before the answer
///    or after it: in the first case the flight is revoked, in the second the entry is removed.
///    The permission goes in the same step in which the flight does: another change, which finds no flight, may remove
///    the entry and return before the first change goes on.
/// 2. *Inclusion.* A flight keeps only what it has read through the tracked connection while it was filed. Nothing else
///    is known to be reported when it changes. So a flight that is not filed has no permission: it loses it where
///    another has its place, and with everything that takes it out but its own end. It gets another one where it is
///    filed anew, which is when it is about to ask: what it is told then is from after that. The permission is all that
///    there is to ask before a value is kept.
/// 3. *Generation.* Whatever interrupts the stream of reports (a lost connection, a flush, a cleared keyspace) ends the
///    generation. A stamp of another generation is not served, so a flush costs nothing per entry. A new generation is
///    served only after it has *joined*: the connection tracks, and the epoch of the keyspace is known.
/// 4. *Liveness.* The generation is served only until ``validUntil``, which proof of life moves on. A connection that
///    is up but silent may hide a partition. The same generation is served again when proof of life comes late, because
///    reports and proof come in one order.
/// 5. *Newcomers* never share a flight that was revoked: it may answer with a value from before the change.
/// 6. *Fallbacks.* A flight that was revoked may still answer with a stale value that it has in hand, because a lost
///    connection is no change. So it is remembered until it lands, and told when its key changes after that.
///
/// Moments are milliseconds of one clock that never runs backwards.
package struct NearMachine<Flight: Equatable> {
    /// Where the connection to the remote tier stands.
    package enum Link: Hashable {
        /// No attempt to connect has ended yet.
        case starting
        /// There is no connection.
        case down
        /// Connected; the epoch of the keyspace is not known yet.
        case joining
        /// Connected and current.
        case current
    }

    /// What a request to the remote tier is sent under.
    package struct Footing: Hashable {
        package let generation: UInt64
        /// What every key of the keyspace begins with in the remote tier.
        package let prefix: String
    }

    /// Flights that an event concerns.
    package struct Concerned {
        /// Their results must not be kept, which is said inside the lock; and newcomers must not share them.
        package var revoked: [Flight] = []
        /// They wait for a change: time to look again, and to forget what was read before.
        package var woken: [Flight] = []
        /// Their key has changed, which is said inside the lock too: what they have in hand is no fallback any more.
        package var changed: [Flight] = []
        /// Whether the link has changed: time to ask again for what a request is sent under.
        package var hasNewLink = false
        /// Whether a new epoch has begun a generation: time to remove what the last one has left.
        package var hasNewGeneration = false
    }

    package private(set) var link = Link.starting
    /// The number of the latest connection or flush; 0 before the first.
    package private(set) var generation: UInt64 = 0
    /// The moment until which the connection is known to live.
    package private(set) var validUntil: Int64 = 0
    /// When the connection was lost; meaningful while it is down.
    package private(set) var lostAt: Int64 = 0
    /// Which attempt to join is under way: the answer to an older one says nothing.
    package private(set) var joinAttempt = 0
    /// Whether the present attempt to join has met a failure, and goes on trying.
    private var isJoinFailing = false

    /// What every key of the keyspace begins with, which changes with the epoch. Nil while the epoch is not known.
    /// While the machine joins again because the epoch's key was reported, it is the last one known.
    package private(set) var prefix: String?
    private var now: Int64 = 0
    private var flights: [KeyName: Filed] = [:]
    /// Flights that have lost their place, and have not landed or heard of a change since.
    private var displaced: [KeyName: [Flight]] = [:]

    fileprivate struct Filed {
        let flight: Flight
        var stage = Stage.waiting
    }

    fileprivate enum Stage {
        /// The flight may have an answer in hand, from the remote tier or from the origin.
        case begun
        /// The flight waits for the connection, or for its key to change.
        case waiting
        /// As `waiting`, but there is reason to look again: what the flight had in hand may be from before a change.
        case woken
    }

    package init() {}

    /// What entries' stamps are compared with.
    package var word: UInt64 {
        link == .current && now < validUntil
            ? NearStamp.word(generation: generation, now: now) : NearStamp.servesNothing
    }

    // MARK: The connection

    /// A connection is up and tracks.
    package mutating func connected(now: Int64, aliveFor: Int64) -> Concerned {
        alive(now: now, for: aliveFor)
        return startGeneration()
    }

    /// Everything has changed.
    package mutating func flushed() -> Concerned {
        var concerned: Concerned
        if link == .joining || link == .current {
            concerned = startGeneration()
        } else {
            // What is here is not even a fallback any more.
            countGeneration()
            concerned = revokeBegun()
        }
        concerned.changed = takeDisplaced()
        return concerned
    }

    /// The key of the epoch was reported: it may have changed, or the server forgot that it tracks it. Entries wait to
    /// be served until it was read again.
    ///
    /// - Returns: the flights under way, which newcomers must not share: what they answer may have been cleared.
    package mutating func epochReported() -> [Flight] {
        guard link == .joining || link == .current else { return [] }
        beginJoining()
        return flights.values.map(\.flight)
    }

    /// Whether the epoch's key was reported, and not read since: all entries may have been cleared.
    private var isEpochInDoubt: Bool { link == .joining && prefix != nil }

    /// The epoch could neither be read nor written in the attempt number `attempt`, which goes on. Flights need not
    /// wait for it: a server that has no memory left may fail for hours.
    package mutating func joinFailed(_ attempt: Int) -> Concerned {
        guard link == .joining, attempt == joinAttempt, !isJoinFailing else { return Concerned() }
        isJoinFailing = true
        return Concerned(woken: wakeAll(), hasNewLink: true)
    }

    /// The epoch was read in the attempt to join number `attempt`. Nil if another attempt has begun since.
    ///
    /// - Parameter prefix: what the epoch has keys begin with.
    package mutating func joined(_ attempt: Int, prefix: String) -> Concerned? {
        guard link == .joining, attempt == joinAttempt else { return nil }
        // The generation goes on where only the report of an unchanged epoch has interrupted it.
        let isCleared = self.prefix != nil && self.prefix != prefix
        var concerned = isCleared ? startGeneration() : Concerned()
        concerned.hasNewGeneration = isCleared
        if isCleared { concerned.changed = takeDisplaced() }
        link = .current
        self.prefix = prefix
        concerned.woken = wakeAll()
        concerned.hasNewLink = true
        return concerned
    }

    /// The connection is lost, or could not be made.
    package mutating func lost(now: Int64) -> Concerned {
        // Told with each attempt that fails: who has begun since has begun without a connection.
        if link == .down { return Concerned() }
        if isEpochInDoubt { countGeneration() }
        // Before the first connection no flight has read anything that the server would report. Those that have begun
        // ask the origin alone, as all do from now on, so newcomers may share them. The first connection revokes them.
        let hasRead = link != .starting
        lostAt = now
        link = .down
        prefix = nil
        return hasRead ? revokeBegun() : Concerned(woken: wakeAll(), hasNewLink: true)
    }

    /// The connection has proved that it lives.
    package mutating func alive(now: Int64, for duration: Int64) {
        tick(now: now)
        let (end, overflow) = now.addingReportingOverflow(duration)
        validUntil = max(validUntil, overflow ? .max : end)
    }

    /// Time has passed.
    package mutating func tick(now: Int64) { self.now = max(self.now, now) }

    /// Whether an entry may be served although nothing proves it current, because the connection has been lost or
    /// silent for no longer than `limit`. It must be fresh, and of the last generation.
    package func isServedDisconnected(_ stamp: NearStamp, now: Int64, upTo limit: Int64) -> Bool {
        guard stamp.generation == generation, stamp.freshUntil > now else { return false }
        switch link {
        case .down: return now - lostAt <= limit
        case .current: return now - validUntil <= limit
        case .starting, .joining: return false
        }
    }

    /// Whether an entry may be a fallback, however old: one of an earlier generation may have been removed without a
    /// report.
    package func isOfLastGeneration(_ stamp: NearStamp) -> Bool { stamp.generation == generation && !isEpochInDoubt }

    private mutating func countGeneration() {
        // The last number is that of the word that serves nothing.
        generation = generation + 2 == 1 << (64 - NearStamp.momentBits) ? 1 : generation + 1
    }

    private mutating func startGeneration() -> Concerned {
        countGeneration()
        beginJoining()
        prefix = nil
        return revokeBegun()
    }

    private mutating func beginJoining() {
        link = .joining
        joinAttempt += 1
        isJoinFailing = false
    }

    private mutating func revokeBegun() -> Concerned {
        let begun = flights.filter { $0.value.stage == .begun }
        for (key, filed) in begun {
            flights[key] = nil
            displaced[key, default: []].append(filed.flight)
        }
        return Concerned(revoked: begun.values.map(\.flight), woken: wakeAll(), hasNewLink: true)
    }

    /// All flights that have lost their place, among them those that have begun before all keys have changed.
    private mutating func takeDisplaced() -> [Flight] {
        defer { displaced = [:] }
        return displaced.values.flatMap(\.self)
    }

    private mutating func wakeAll() -> [Flight] {
        let waiting = flights.filter { $0.value.stage != .begun }
        for key in waiting.keys { flights[key]?.stage = .woken }
        return waiting.values.map(\.flight)
    }

    // MARK: Flights

    /// The flight of `key` that newcomers may share.
    package func flight(of key: String) -> Flight? { flights[KeyName(key)]?.flight }

    /// Files a new flight of `key`. A flight that it displaces keeps nothing, because a change takes the permission
    /// from the filed flight alone.
    package mutating func file(_ flight: Flight, forKey key: String) -> Concerned {
        let name = KeyName(key)
        guard let other = flights.updateValue(Filed(flight: flight), forKey: name)?.flight else { return Concerned() }
        displaced[name, default: []].append(other)
        return Concerned(revoked: [other])
    }

    /// The flight is about to ask the remote tier.
    ///
    /// - Returns: what it asks under, nil if it cannot ask now; and whether it has been filed anew, so that it needs
    ///   another permission: it had lost its place, and nobody else has it.
    package mutating func begin(_ flight: Flight, forKey key: String) -> (footing: Footing?, isFiledAnew: Bool) {
        guard let footing else { return (nil, false) }
        return (footing, beginLoad(flight, forKey: key))
    }

    /// Files a flight that nobody shares, and that displaces nobody, and has it ask the remote tier.
    ///
    /// - Returns: what it asks under, nil if it cannot ask now; and whether it is filed. Where another one has the key
    ///   it is not: it is to be revoked, because it is told of no change.
    package mutating func beginAlone(_ flight: Flight, forKey key: String) -> (footing: Footing?, isFiled: Bool) {
        let footing = footing
        // One search as a rule.
        let filed = Filed(flight: flight, stage: footing == nil ? .waiting : .begun)
        let other = flights.updateValue(filed, forKey: KeyName(key))
        if let other { flights[KeyName(key)] = other }
        return (footing, other == nil)
    }

    /// The flight is about to ask the origin; whether it has been filed anew, as in ``begin(_:forKey:)``.
    package mutating func beginLoad(_ flight: Flight, forKey key: String) -> Bool {
        guard let filed = flights[KeyName(key)] else {
            flights[KeyName(key)] = Filed(flight: flight, stage: .begun)
            forgetDisplaced(flight, key)
            return true
        }
        if filed.flight == flight { flights[KeyName(key)] = Filed(flight: flight, stage: .begun) }
        return false
    }

    /// The flight waits for its key to change and answers nobody until it has asked anew, or resumed; false if the key
    /// has changed already.
    package mutating func pause(_ flight: Flight, forKey key: String) -> Bool {
        guard let place = place(of: flight, key) else { return false }
        flights.values[place].stage = .waiting
        return true
    }

    /// The wait has taken too long, and the flight answers with what it had in hand before; false if it must not,
    /// because its key may have changed during the wait.
    package mutating func resume(_ flight: Flight, forKey key: String) -> Bool {
        guard let place = place(of: flight, key), flights.values[place].stage == .waiting else { return false }
        flights.values[place].stage = .begun
        return true
    }

    /// Where `flight` is filed; nil if it is not, or not any more.
    private func place(of flight: Flight, _ key: String) -> Dictionary<KeyName, Filed>.Index? {
        flights.index(forKey: KeyName(key)).flatMap { flights.values[$0].flight == flight ? $0 : nil }
    }

    /// What a request sent now is sent under; nil where none can be.
    package var footing: Footing? {
        guard link == .current, let prefix else { return nil }
        return Footing(generation: generation, prefix: prefix)
    }

    /// Whether what was sent under `footing` and answered since was about the keys that are asked for now. Nil while
    /// the epoch is being read; a failure where nobody will know.
    package func isStanding(_ footing: Footing) -> Result<Bool, RemoteTierError>? {
        // Whatever may have changed the epoch ends the generation, or puts it in doubt: also a connection that is lost
        // with the epoch in doubt.
        if generation == footing.generation, !isEpochInDoubt { return .success(true) }
        if let current = self.footing { return .success(current.prefix == footing.prefix) }
        return link == .down ? .failure(.disconnected) : nil
    }

    /// Whether there may be a footing in a moment, so that a flight had better wait for it.
    package var expectsFooting: Bool {
        switch link {
        case .starting, .current: true
        case .joining: !isJoinFailing
        case .down: false
        }
    }

    /// The key has changed, or is about to.
    package mutating func changed(_ key: String) -> Concerned {
        let name = KeyName(key)
        var concerned = Concerned()
        if !displaced.isEmpty { concerned.changed = displaced.removeValue(forKey: name) ?? [] }
        guard let place = flights.index(forKey: name) else { return concerned }
        let filed = flights.values[place]
        if filed.stage == .begun {
            flights.remove(at: place)
            concerned.revoked = [filed.flight]
            concerned.changed.append(filed.flight)
        } else {
            flights.values[place].stage = .woken
            concerned.woken = [filed.flight]
        }
        return concerned
    }

    /// The flight has ended, and what it had to keep is kept: newcomers start another.
    package mutating func landed(_ flight: Flight, forKey key: String) {
        guard let place = place(of: flight, key) else { return forgetDisplaced(flight, key) }
        flights.remove(at: place)
    }

    /// The flight has landed, or is told of changes where it is filed.
    private mutating func forgetDisplaced(_ flight: Flight, _ key: String) {
        guard !displaced.isEmpty, let place = displaced.index(forKey: KeyName(key)) else { return }
        displaced.values[place].removeAll { $0 == flight }
        if displaced.values[place].isEmpty { displaced.remove(at: place) }
    }

    /// How many flights are under way, but for those that are out of their places and have heard of a change.
    package var flightCount: Int { displaced.values.reduce(flights.count) { $0 + $1.count } }
}

extension NearMachine: Equatable, Hashable where Flight: Hashable {}
extension NearMachine.Filed: Equatable, Hashable where Flight: Hashable {}
