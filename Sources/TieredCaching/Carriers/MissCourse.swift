//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization

/// Carries out one miss: asks the machine for the next step, does it, and tells what came of it.
struct MissCourse<Key, Value>: Sendable
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    let core: NearCore<Key, Value>
    let codec: any CacheCodec<Value>
    let cost: (@Sendable (Key, Value) -> Int)?
    let flight: TierFlight<Value>
    let key: Key
    let name: String
    let load: @Sendable () async throws -> Value

    typealias Machine = MissMachine<Value>

    init(
        _ core: NearCore<Key, Value>,
        _ codec: any CacheCodec<Value>,
        _ cost: (@Sendable (Key, Value) -> Int)?,
        _ flight: TierFlight<Value>,
        _ key: Key,
        _ load: @escaping @Sendable () async throws -> Value
    ) {
        self.core = core
        self.codec = codec
        self.cost = cost
        self.flight = flight
        self.key = key
        // What the load asks for in turn is part of its span.
        self.load = { try await LoadSpan.step("cache.origin", cache: core.near.name, load) }
        name = key.description
    }

    /// What has come of the remote tier so far.
    struct Progress {
        /// When the miss began, and how long the remote tier may still take of it, in milliseconds.
        let began: Int64
        var patience: Int64
        var footing: NearMachine<TierFlight<Value>>.Footing?
        let token = LeaseToken()
        var freshUntil: Int64 = 0
        var byteCount = 0
        var loading: LoadInBackground<Value>?
        var waitsUntil: Int64 = .max
        var waits = 0
    }

    /// Goes the whole course. The waiters are answered on the way; what is left to do after that is done too.
    func run() async {
        var machine = Machine()
        let now = core.now
        var progress = Progress(began: now, patience: core.options.softTimeout.milliseconds)
        var steps = [Machine.Step.read]
        while !steps.isEmpty {
            var event: Machine.Event?
            for step in steps { event = await perform(step, hasStale: machine.hasStale, &progress) ?? event }
            if flight.hasChanged.load(ordering: .acquiring) { machine.keyChanged() }
            steps = event.map { machine.next($0) } ?? []
        }
        core.withMachine { $0.landed(flight, forKey: name) }
    }

    /// Asks the remote tier and nobody else.
    nonisolated(nonsending) func readOnly() async throws -> Value? {
        core.withMachine { machine in
            // It displaces nobody.
            if machine.flight(of: name) == nil { _ = machine.file(flight, forKey: name) }
        }
        defer { core.withMachine { $0.landed(flight, forKey: name) } }
        var progress = Progress(began: core.now, patience: core.options.softTimeout.milliseconds)
        switch await read(&progress) {
        case .found(let value):
            keep(value, progress)
            return value
        case .slow: throw RemoteTierError.timedOut
        case .failed, .full: throw RemoteTierError.disconnected
        default: return nil
        }
    }

    private func perform(_ step: Machine.Step, hasStale: Bool, _ progress: inout Progress) async -> Machine.Event? {
        switch step {
        case .read: return await read(&progress)
        case .acquire(let unusable): return await acquire(unusable: unusable, &progress)
        case .wait: return await wait(hasStale: hasStale, &progress)
        case .load: return await load(hasStale: hasStale, &progress)
        case .fill(let value): return .filled(await fill(value, &progress))
        case .release:
            if let footing = progress.footing {
                let remoteKey = core.keyspace.remoteKey(name, epoch: footing.epoch)
                let (tier, token, limit) = (core.tier, progress.token, core.options.changeTimeout)
                Task { try? await tier.release(remoteKey, lease: token, within: limit) }
            }
        case .keep(let value): keep(value, progress)
        case .land(let value): flight.land(.value(value))
        case .landStale(let value):
            core.counters.staleHits.count()
            flight.land(.value(value))
        case .fail(let error): flight.land(.failure(error))
        }
        return nil
    }

    private func keep(_ value: Value, _ progress: Progress) {
        guard let footing = progress.footing else { return }
        core.keep(
            value,
            of: flight,
            forKey: key,
            name,
            readUnder: footing,
            freshUntil: progress.freshUntil,
            cost: cost?(key, value) ?? progress.byteCount,
            recomputeCost: Double(max(1, core.now - progress.began))
        )
    }
}

// MARK: The remote tier

extension MissCourse {
    private func read(_ progress: inout Progress) async -> Machine.Event {
        guard await findFooting(&progress), let remoteKey = remoteKey(progress) else {
            return .failed(stale: core.fallback(forKey: key), mayHoldLease: false)
        }
        // Read before the lock: the clock may be the user's.
        let now = core.now
        guard core.breaker.withLock({ $0.permits(now: now) }) else {
            core.counters.remoteSkips.count()
            return .failed(stale: core.fallback(forKey: key), mayHoldLease: false)
        }
        return await asking("cache.remote.read", &progress, mayHoldLease: false) { sentAt, limit, progress in
            guard let found = try await core.tier.read(remoteKey, within: limit) else { return .absent }
            return decoded(found, sentAt, &progress) ?? .absent
        }
    }

    private func acquire(unusable: [UInt8]?, _ progress: inout Progress) async -> Machine.Event {
        if Task.isCancelled { return .loadFailed(CancellationError()) }
        // After a wait the flight has nothing in hand, and asks anew.
        guard await findFooting(&progress), let remoteKey = remoteKey(progress) else {
            return .failed(stale: core.fallback(forKey: key), mayHoldLease: false)
        }
        let terms = LeaseTerms(
            token: progress.token,
            duration: core.options.leaseTime,
            staleBelow: core.options.keptFor,
            unusable: unusable
        )
        return await asking("cache.remote.acquire", &progress, mayHoldLease: true) { sentAt, limit, progress in
            switch try await core.tier.acquire(remoteKey, terms, within: limit) {
            case .found(let found): return decoded(found, sentAt, &progress) ?? .held(stale: nil)
            case .granted(let stale): return .granted(stale: stale.flatMap(decoded))
            case .held(let remaining, let stale):
                progress.waitsUntil = core.now + remaining.milliseconds
                return .held(stale: stale.flatMap(decoded))
            case .full:
                core.counters.unstorable.count()
                return .full
            }
        }
    }

    /// Stores what was loaded; whether the remote tier has taken it.
    private func fill(_ value: Value, _ progress: inout Progress) async -> Bool {
        guard let remoteKey = remoteKey(progress) else { return false }
        let options = core.options
        guard let bytes = try? codec.encode(value), bytes.count <= options.largestValue else {
            core.counters.unstorable.count()
            return false
        }
        let token = progress.token
        let event = await asking("cache.remote.fill", &progress, mayHoldLease: true) { sentAt, limit, progress in
            progress.freshUntil = sentAt + options.freshFor().milliseconds
            progress.byteCount = bytes.count
            let isStored = try await core.tier.fill(
                remoteKey,
                with: bytes,
                lifetime: options.freshFor() + options.keptFor,
                lease: token,
                within: limit
            )
            if !isStored { core.counters.refusedFills.count() }
            return .filled(isStored)
        }
        if case .filled(let isStored) = event { return isStored }
        return false
    }

    /// Asks the remote tier, within what is left of the soft timeout, and reports to the breaker.
    private func asking(
        _ operation: String,
        _ progress: inout Progress,
        mayHoldLease: Bool,
        _ request: (_ sentAt: Int64, _ limit: Duration, inout Progress) async throws -> Machine.Event
    ) async -> Machine.Event {
        let sentAt = core.now
        do {
            let event = try await LoadSpan.step(operation, cache: core.near.name) {
                try await request(sentAt, .milliseconds(max(1, progress.patience)), &progress)
            }
            progress.patience -= core.now - sentAt
            core.breaker.withLock { $0.succeeded() }
            return event
        } catch {
            progress.patience -= core.now - sentAt
            return failure(error, mayHoldLease: mayHoldLease)
        }
    }

    private func failure(_ error: any Error, mayHoldLease: Bool) -> Machine.Event {
        core.noteFailure(error)
        let stale = core.fallback(forKey: key)
        switch error as? RemoteTierError {
        case .full, .tooLarge: return .full
        case .timedOut: return .slow(stale: stale, mayHoldLease: mayHoldLease)
        default: return .failed(stale: stale, mayHoldLease: false)
        }
    }

    /// What the flight asks under: waits for a connection that is being made, as long as a request may take.
    private func findFooting(_ progress: inout Progress) async -> Bool {
        let began = core.now
        progress.footing = try? await core.footing(within: .milliseconds(max(0, progress.patience))) { machine in
            let footing = machine.begin(flight, forKey: name)
            return footing.map { .success($0) } ?? (machine.expectsFooting ? nil : .failure(.disconnected))
        }
        progress.patience -= core.now - began
        return progress.footing != nil
    }

    private func remoteKey(_ progress: Progress) -> String? {
        progress.footing.map { core.keyspace.remoteKey(name, epoch: $0.epoch) }
    }

    private func decoded(_ found: RemoteValue, _ sentAt: Int64, _ progress: inout Progress) -> Machine.Event? {
        // A value without a lifetime was stored by another program; it is kept as long as one of ours.
        let fresh = found.remaining.map { $0 - core.options.keptFor } ?? core.options.freshFor()
        guard fresh > .zero else { return nil }
        guard let value = decoded(found.bytes) else { return .undecodable(found.bytes) }
        core.counters.remoteHits.count()
        progress.freshUntil = sentAt + fresh.milliseconds
        progress.byteCount = found.bytes.count
        return .found(value)
    }

    private func decoded(_ bytes: [UInt8]) -> Value? {
        // Not `bytes.span`, which needs macOS 26.
        let value = try? bytes.withUnsafeBytes { try codec.decode(RawSpan(_unsafeBytes: $0)) }
        if value == nil { core.counters.undecodable.count() }
        return value
    }
}

// MARK: The origin, and other processes

extension MissCourse {
    private func load(hasStale: Bool, _ progress: inout Progress) async -> Machine.Event {
        if progress.loading == nil {
            // The last waiter has left, and nobody asks the origin for nobody.
            if Task.isCancelled { return .loadFailed(CancellationError()) }
            core.withMachine { $0.beginLoad(flight, forKey: name) }
            core.counters.loads.count()
        }
        let loading = progress.loading ?? LoadInBackground(load)
        progress.loading = loading
        let limit = hasStale ? core.options.softLoadTimeout : nil
        switch await loading.result(within: limit) {
        case .success(let value)?: return .loaded(value)
        case .failure(let error)?:
            core.counters.loadFailures.count()
            return .loadFailed(error)
        case nil: return .loadIsSlow
        }
    }

    /// Waits until the process that holds the lease has ended, or its time is over.
    private func wait(hasStale: Bool, _ progress: inout Progress) async -> Machine.Event {
        core.counters.leaseWaits.count()
        if Task.isCancelled { return .loadFailed(CancellationError()) }
        // A report wakes the wait; the poll behind it is for reports that came before the wait could begin.
        let poll = Int64.random(in: 50...100) << min(progress.waits, 4)
        progress.waits += 1
        // A remote tier that answers that another process is at work is not slow.
        progress.patience = core.options.softTimeout.milliseconds
        let rest = max(1, min(poll - 1, progress.waitsUntil - core.now) + 1)
        let isPaused = core.withMachine { $0.pause(flight, forKey: name) }
        if isPaused {
            if await flight.wake.wait(atMost: .milliseconds(rest)) { return .woken }
        } else {
            try? await Task.sleep(for: .milliseconds(min(rest, 5)))
        }
        if hasStale, let limit = core.options.softLoadTimeout, core.now - progress.began > limit.milliseconds,
            !isPaused || core.withMachine({ $0.resume(flight, forKey: name) })
        {
            return .loadIsSlow
        }
        return .woken
    }
}

extension NearCore {
    /// An operation of the remote tier has failed.
    func noteFailure(_ error: any Error) {
        counters.remoteFailures.count()
        // Read before the lock: the clock may be the user's.
        let now = now
        breaker.withLock { breaker in
            switch error as? RemoteTierError {
            // An answer: the remote tier works, and refuses this value or this key.
            case .full, .tooLarge, .refused: breaker.succeeded()
            default: breaker.failed(now: now, jitter: .random(in: 0...1))
            }
        }
    }
}
