//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryCaching
public import Synchronization

/// A value near, and when it may be served.
@usableFromInline
struct NearEntry<Value: Sendable>: Sendable {
    @usableFromInline let value: Value
    @usableFromInline let stamp: NearStamp
}

/// The near cache at work: `NearMachine` in its lock, the entries, and the word that hits look at. It applies the
/// remote tier's events on the thread that brings them.
///
/// A change takes the flight out of the machine and revokes its ticket in one step, then removes the entry. Keeping a
/// value asks the machine first and the ticket under the entry's lock. So either the ticket is found revoked, or the
/// entry is removed after it was kept.
@usableFromInline
final class NearCore<Key, Value>: RemoteTierSubscriber
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    typealias Flight = TierFlight<Value>
    typealias Machine = NearMachine<Flight>

    @usableFromInline let near: MemoryCache<Key, NearEntry<Value>>
    /// What stamps are compared with; written under the machine's lock alone.
    @usableFromInline let word = Atomic<UInt64>(NearStamp.servesNothing)

    let tier: any RemoteTier
    let keyspace: Keyspace
    let options: TieredCacheOptions
    let counters = TierCounters()
    let breaker = Mutex(CircuitBreaker())
    private let clock: LifetimeClock
    let machine = Mutex(Machine())
    /// Wakes those who wait for a connection that is being made.
    let linkChange = ChangeSignal()
    /// How far the removal of entries of ended generations has come; nil when it is done.
    private let sweep = Mutex<EngineSweep?>(nil)

    init(
        near: MemoryCache<Key, NearEntry<Value>>,
        tier: any RemoteTier,
        keyspace: Keyspace,
        options: TieredCacheOptions
    ) {
        self.near = near
        self.tier = tier
        self.keyspace = keyspace
        self.options = options
        clock = LifetimeClock(options.clock)
    }

    /// Milliseconds of the clock of lifetimes.
    var now: Int64 { clock.nanoseconds() / 1_000_000 }

    /// Asks the machine, or tells it, and publishes the word that follows.
    ///
    /// Time passes for the machine each time: a process that was stopped notices with its first miss, which may come
    /// before the tier's thread runs again.
    func withMachine<R>(_ body: (inout Machine) -> R) -> R {
        // Read before the lock: the clock may be the user's.
        let now = now
        return machine.withLock { machine in
            machine.tick(now: now)
            let result = body(&machine)
            word.store(machine.word, ordering: .releasing)
            return result
        }
    }

    /// Tells the machine what revokes flights. Their tickets are revoked before any other thread can ask the machine.
    func revoking(_ body: (inout Machine) -> Machine.Concerned?) -> Machine.Concerned {
        withMachine { machine in
            let concerned = body(&machine) ?? Machine.Concerned()
            for flight in concerned.revoked { flight.ticket.revoke() }
            return concerned
        }
    }

    func tell(_ concerned: Machine.Concerned) {
        for flight in concerned.revoked { flight.revoke() }
        for flight in concerned.woken { flight.wake.signal() }
        if concerned.hasNewLink { linkChange.signal() }
    }

    /// What a request is sent under, after waiting for a connection that is being made.
    ///
    /// - Parameter look: asks the machine; nil is a reason to wait.
    nonisolated(nonsending) func footing(
        within limit: Duration,
        _ look: (inout Machine) -> Result<Machine.Footing, RemoteTierError>?
    ) async throws(RemoteTierError) -> Machine.Footing {
        let result = await linkChange.first(within: limit) { withMachine(look) }
        return try (result ?? .failure(.disconnected)).get()
    }

    // MARK: Events

    @usableFromInline
    func receive(_ event: RemoteTierEvent) {
        let now = now
        switch event {
        case .tick:
            withMachine { _ in }
            removeSomeOfEndedGenerations()
        case .alive(let duration): withMachine { $0.alive(now: now, for: duration.milliseconds) }
        case .connected(let duration):
            breaker.withLock { $0.succeeded() }
            tell(revoking { $0.connected(now: now, aliveFor: duration.milliseconds) })
            beginGeneration()
        case .flushed: flush()
        case .invalidated(let keys):
            for key in keys { invalidate(key) }
        case .lost: tell(revoking { $0.lost(now: now) })
        }
    }

    private func invalidate(_ remoteKey: String) {
        if remoteKey == keyspace.epochKey {
            withMachine { $0.epochReported() }
            join()
        } else if let epoch = withMachine({ $0.epoch }),
            let key = keyspace.localKey(of: remoteKey, epoch: epoch)
        {
            counters.invalidations.count()
            drop(key, Key(key))
        }
    }

    /// Everything has changed.
    func flush() {
        let concerned = revoking { $0.flushed() }
        for flight in concerned.revoked { flight.hasChanged.store(true, ordering: .releasing) }
        tell(concerned)
        beginGeneration()
    }

    private func beginGeneration() {
        counters.generations.count()
        sweep.withLock { $0 = EngineSweep() }
        join()
    }

    /// The key has changed, or is about to.
    func drop(_ name: String, _ key: Key?) {
        let concerned = revoking { $0.changed(name) }
        for flight in concerned.revoked { flight.hasChanged.store(true, ordering: .releasing) }
        tell(concerned)
        if let key { near.removeValue(forKey: key) }
    }

    // MARK: Joining

    /// Reads the epoch of the keyspace for the present attempt to join, in a task of its own.
    private func join() {
        let attempt = withMachine { $0.joinAttempt }
        Task { [weak self] in
            var pause = Duration.milliseconds(10)
            while let self, self.withMachine({ $0.link == .joining && $0.joinAttempt == attempt }) {
                switch await self.readEpoch() {
                case .known(let epoch): return self.tell(self.revoking { $0.joined(attempt, epoch: epoch) })
                case .beingWritten: break
                case .unknown: self.tell(self.withMachine { $0.joinFailed(attempt) })
                }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(500))
            }
        }
    }

    private enum EpochAnswer {
        case known(String)
        /// Another process has the lease, and will be done in a moment.
        case beingWritten
        /// The remote tier fails, or has no memory left.
        case unknown
    }

    private func readEpoch() async -> EpochAnswer {
        let (key, limit) = (keyspace.epochKey, options.changeTimeout)
        var unusable: [UInt8]?
        if let found = try? await tier.read(key, within: limit) {
            if let epoch = Keyspace.epoch(in: found.bytes) { return .known(epoch) }
            unusable = found.bytes
        }
        let terms = LeaseTerms(token: LeaseToken(), duration: limit, unusable: unusable)
        switch try? await tier.acquire(key, terms, within: limit) {
        case .found(let found): return Keyspace.epoch(in: found.bytes).map(EpochAnswer.known) ?? .beingWritten
        case .granted:
            let epoch = Keyspace.newEpoch()
            let isStored = try? await tier.fill(
                key,
                with: epoch,
                lifetime: Keyspace.epochLifetime,
                lease: terms.token,
                within: limit
            )
            switch (isStored, Keyspace.epoch(in: epoch)) {
            case (true, let epoch?): return .known(epoch)
            // Another program has changed the key: the next round reads it.
            case (false, _): return .beingWritten
            default: return .unknown
            }
        case .held: return .beingWritten
        case .full, nil: return .unknown
        }
    }

    // MARK: Entries

    /// Keeps what `flight` has read, unless its key has changed since.
    func keep(
        _ value: Value,
        of flight: Flight,
        forKey key: Key,
        _ name: String,
        readUnder footing: Machine.Footing,
        freshUntil: Int64,
        cost: Int,
        recomputeCost: Double?
    ) {
        let stamp = withMachine { $0.stamp(flight, forKey: name, readUnder: footing, freshUntil: freshUntil) }
        guard let stamp else { return }
        near.engine.setValue(
            NearEntry(value: value, stamp: stamp),
            forKey: key,
            cost: cost,
            recomputeCost: recomputeCost,
            ticket: flight.ticket
        )
    }

    /// Removes a few of the entries that ended generations have left. Nothing reports them, and nothing serves them.
    private func removeSomeOfEndedGenerations() {
        guard var place = sweep.withLock({ $0.take() }) else { return }
        let generation = withMachine { $0.generation }
        var isDone = false
        for _ in 0..<Self.bites where !isDone {
            isDone = near.engine.removeSome(from: &place) { $0.stamp.generation != generation }
        }
        // A generation that has begun meanwhile begins anew.
        if !isDone { sweep.withLock { sweep in sweep = sweep ?? place } }
    }

    /// Pieces of a sweep for each tick.
    private static var bites: Int { 8 }

    /// A near value that is a fallback: within its lifetime and what it is kept beyond that, and of the last
    /// generation. One of an older generation may have been removed without a report.
    func fallback(forKey key: Key) -> Value? {
        guard options.keptFor > .zero, let entry = near.value(forKey: key) else { return nil }
        counters.unservedHits.count()
        guard entry.stamp.generation == withMachine({ $0.generation }) else { return nil }
        return entry.stamp.freshUntil + options.keptFor.milliseconds > now ? entry.value : nil
    }

    /// A near value that may be served though nothing proves it current.
    func disconnectedValue(forKey key: Key) -> Value? {
        guard case .serveStale(let limit) = options.whileDisconnected, let entry = near.value(forKey: key) else {
            return nil
        }
        counters.unservedHits.count()
        // Read before the lock: the clock may be the user's.
        let now = now
        let isServed = withMachine { $0.isServedDisconnected(entry.stamp, now: now, upTo: limit.milliseconds) }
        return isServed ? entry.value : nil
    }
}

extension Duration {
    /// Whole milliseconds, clamped to 64 bits of nanoseconds.
    var milliseconds: Int64 { saturatedNanoseconds / 1_000_000 }
}
