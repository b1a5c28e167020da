//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
public import Synchronization

/// A near cache's link to its remote tier: `NearMachine` in its lock, the word that hits look at, and what requests are
/// sent under. It knows neither keys nor values, so that it is compiled once and not for each of their types.
@usableFromInline
final class NearLink: Sendable {
    typealias Machine = NearMachine<TierFlight>

    /// What stamps are compared with; written under the machine's lock alone.
    @usableFromInline let word = Atomic<UInt64>(NearStamp.servesNothing)

    /// The cache's name, for people.
    let name: String
    let tier: any RemoteTier
    let keyspace: Keyspace
    let options: TieredCacheOptions
    /// How long values are kept beyond their lifetimes: every remote hit asks.
    let keptFor: Duration
    /// Whether near values are ever served though nothing proves them current: every miss asks.
    let servesDisconnected: Bool
    let counters = TierCounters()
    let breaker = SharedBreaker()
    private let clock: LifetimeClock
    let machine = Mutex(Machine())
    /// Wakes those who wait for a connection that is being made.
    let linkChange = ChangeSignal()
    /// Loads that go on though a fallback has answered for them.
    let loadsUnderWay = LoadsUnderWay()

    init(name: String, tier: any RemoteTier, keyspace: Keyspace, options: TieredCacheOptions) {
        self.name = name
        self.tier = tier
        self.keyspace = keyspace
        self.options = options
        keptFor = options.keptFor
        if case .serveStale = options.whileDisconnected {
            servesDisconnected = true
        } else {
            servesDisconnected = false
        }
        clock = LifetimeClock(options.clock)
    }

    /// Milliseconds of the clock of lifetimes.
    var now: Int64 { clock.nanoseconds() / 1_000_000 }

    /// Asks the machine, or tells it, and publishes the word that follows.
    ///
    /// Time passes for the machine each time: a process that was stopped notices with its first miss, which may come
    /// before the tier's thread runs again.
    ///
    /// - Parameter moment: the present one; nil to read the clock, before the lock, because it may be the user's.
    func withMachine<R>(at moment: Int64? = nil, _ body: (inout Machine) -> R) -> R {
        let now = moment ?? now
        return machine.withLock { machine in
            machine.tick(now: now)
            let result = body(&machine)
            word.store(machine.word, ordering: .releasing)
            return result
        }
    }

    /// The flight has ended: no time passes with that, and nothing else may be served.
    func landed(_ flight: TierFlight, forKey name: String) {
        machine.withLock { $0.landed(flight, forKey: name) }
    }

    /// Tells the machine what revokes flights. Their tickets are revoked, and their fallbacks are taken from those whose
    /// keys have changed, before any other thread can ask the machine.
    func revoking(_ body: (inout Machine) -> Machine.Concerned?) -> Machine.Concerned {
        withMachine { machine in
            let concerned = body(&machine) ?? Machine.Concerned()
            for flight in concerned.revoked { flight.ticket.revoke() }
            for flight in concerned.changed { flight.hasChanged.store(true, ordering: .releasing) }
            return concerned
        }
    }

    func tell(_ concerned: Machine.Concerned) {
        for flight in concerned.revoked { flight.revoke() }
        for flight in concerned.woken { flight.wake?.signal() }
        if concerned.hasNewLink { linkChange.signal() }
    }

    /// All keys have changed: what flights and loads have in hand is no value of any.
    func tellOfChange(of concerned: Machine.Concerned) {
        loadsUnderWay.forgetAll()
        tell(concerned)
    }

    /// What the machine answers, after waiting for a connection that is being made.
    ///
    /// - Parameter look: asks the machine; nil is a reason to wait.
    nonisolated(nonsending) func first<Answer>(
        within limit: Duration,
        _ look: (inout Machine) -> Result<Answer, RemoteTierError>?
    ) async throws(RemoteTierError) -> Answer {
        let result = await linkChange.first(within: limit) { withMachine(look) }
        return try (result ?? .failure(.disconnected)).get()
    }

    // MARK: The breaker

    /// An operation of the remote tier has failed.
    func noteFailure(_ error: any Error) {
        switch error as? RemoteTierError {
        case .full, .tooLarge: counters.unstorable.count()
        default: counters.remoteFailures.count()
        }
        // Read before the lock: the clock may be the user's.
        let now = now
        breaker.report { breaker in
            switch error as? RemoteTierError {
            // An answer: the remote tier works, and refuses this value or this key.
            case .full, .refused: breaker.succeeded()
            // Nothing was sent, as a rule, and nothing else is known of the remote tier.
            case .tooLarge: breaker.withdrew(now: now)
            default: breaker.failed(now: now, jitter: .random(in: 0...1))
            }
        }
    }

    // MARK: Joining

    /// Reads the epoch of the keyspace for the present attempt to join, in a task of its own.
    ///
    /// - Parameter cleared: called where another process has written a new epoch, which begins a generation.
    func join(cleared: @escaping @Sendable () -> Void) {
        let attempt = withMachine { $0.joinAttempt }
        Task {
            var pause = Duration.milliseconds(10)
            while withMachine({ $0.link == .joining && $0.joinAttempt == attempt }) {
                switch await readEpoch() {
                case .known(let epoch):
                    let concerned = revoking { $0.joined(attempt, prefix: keyspace.prefix(of: epoch)) }
                    if concerned.hasNewGeneration {
                        tellOfChange(of: concerned)
                        cleared()
                    } else {
                        tell(concerned)
                    }
                    return
                // Whoever writes it may be dead: after 70 ms, the first three pauses, lookups go on without it.
                case .beingWritten: if pause > .milliseconds(50) { tell(withMachine { $0.joinFailed(attempt) }) }
                case .unknown: tell(withMachine { $0.joinFailed(attempt) })
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
        // Writing it takes a round trip. A process that dies meanwhile must not keep the others out for long.
        let terms = LeaseTerms(token: LeaseToken(), duration: min(limit, .milliseconds(500)), unusable: unusable)
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
}

extension Duration {
    /// Whole milliseconds, clamped to 64 bits of nanoseconds.
    var milliseconds: Int64 { saturatedNanoseconds / 1_000_000 }
}
