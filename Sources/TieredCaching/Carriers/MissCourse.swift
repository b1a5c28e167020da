//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization

/// What a miss has to do with its key and its values. All else is the same whatever their types are.
protocol MissSubject: Sendable {
    func decode(_ bytes: [UInt8]) throws -> any Parcel
    func encode(_ parcel: any Parcel) throws -> [UInt8]
    /// Asks the origin.
    func load() async throws -> any Parcel
    /// The near value that may be served where the remote tier fails.
    var fallback: (any Parcel)? { get }
    /// Keeps near what `flight` has read.
    func keep(_ parcel: any Parcel, of flight: TierFlight, _ progress: MissCourse.Progress)
}

/// The miss of one key and its typed values.
final class TypedSubject<Key, Value>: MissSubject
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    private let core: NearCore<Key, Value>
    private let key: Key
    private let name: String
    private let origin: @Sendable () async throws -> Value

    init(
        _ core: NearCore<Key, Value>,
        _ key: Key,
        _ name: String,
        _ origin: @escaping @Sendable () async throws -> Value
    ) {
        self.core = core
        self.key = key
        self.name = name
        self.origin = origin
    }

    func decode(_ bytes: [UInt8]) throws -> any Parcel {
        // Not `bytes.span`, which needs macOS 26.
        core.code.pack(try bytes.withUnsafeBytes { try core.codec.decode(RawSpan(_unsafeBytes: $0)) })
    }

    func encode(_ parcel: any Parcel) throws -> [UInt8] { try core.codec.encode(core.code.unpack(parcel)) }

    func load() async throws -> any Parcel {
        // What the load asks for in turn is part of its span.
        core.code.pack(try await LoadSpan.step("cache.origin", cache: core.link.name, origin))
    }

    var fallback: (any Parcel)? { core.fallback(forKey: key).map(core.code.pack) }

    func keep(_ parcel: any Parcel, of flight: TierFlight, _ progress: MissCourse.Progress) {
        guard let footing = progress.footing else { return }
        let value = core.code.unpack(parcel)
        core.keep(
            value,
            of: flight,
            forKey: key,
            stamp: NearStamp(generation: footing.generation, freshUntil: progress.freshUntil),
            cost: core.cost?(key, value) ?? progress.byteCount,
            began: progress.began,
            now: progress.now
        )
    }
}

/// Carries out one miss: asks the machine for the next step, does it, and tells what came of it.
///
/// A class, because each of its steps would copy a value, and every copy counts all that is in it.
final class MissCourse: Sendable {
    private let link: NearLink
    private let subject: any MissSubject
    private let flight: TierFlight
    private let name: String

    init(link: NearLink, subject: any MissSubject, flight: TierFlight, name: String) {
        self.link = link
        self.subject = subject
        self.flight = flight
        self.name = name
    }

    typealias Machine = MissMachine<any Parcel>

    /// What has come of the remote tier so far.
    struct Progress {
        /// When the miss began, and what the time was when the clock was last read.
        let began: Int64
        var now: Int64
        var footing: NearMachine<TierFlight>.Footing?
        /// The name of the lease, which a plain read needs none of: random words come from the kernel.
        lazy var token = LeaseToken()
        var freshUntil: Int64 = 0
        var byteCount = 0
        var loading: LoadInBackground<any Parcel>?
        /// Whether the load is this flight's alone.
        var ownsLoad = true
        /// What the remote tier has failed with.
        var error: (any Error)?
        var waitsUntil: Int64 = .max
        var waits = 0
    }

    /// Goes the whole course. The waiters are answered on the way; what is left to do after that is done too.
    func run() async {
        var machine = Machine()
        let now = link.now
        var progress = Progress(began: now, now: now)
        var steps = [Machine.Step.read]
        while !steps.isEmpty {
            var event: Machine.Event?
            for step in steps { event = await perform(step, machine, &progress) ?? event }
            if flight.hasChanged.load(ordering: .acquiring) { machine.keyChanged() }
            steps = event.map { machine.next($0) } ?? []
        }
        link.landed(flight, forKey: name)
    }

    /// Asks the remote tier and nobody else.
    nonisolated(nonsending) func readOnly() async throws -> (any Parcel)? {
        let now = link.now
        var progress = Progress(began: now, now: now)
        progress.footing = link.withMachine(at: now) { machine in
            let (footing, isFiled) = machine.beginAlone(flight, forKey: name)
            if !isFiled { flight.ticket.revoke() }
            return footing
        }
        defer { link.landed(flight, forKey: name) }
        switch await read(&progress) {
        case .found(let value):
            subject.keep(value, of: flight, progress)
            return value
        case .slow: throw RemoteTierError.timedOut
        case .failed: throw progress.error ?? RemoteTierError.disconnected
        // Not of what is stored: the tier takes no such key.
        default: return nil
        }
    }

    private func perform(_ step: Machine.Step, _ machine: Machine, _ progress: inout Progress) async -> Machine.Event? {
        switch step {
        case .read: return await read(&progress)
        case .acquire(let unusable): return await acquire(unusable: unusable, &progress)
        case .wait: return await wait(hasStale: machine.hasStale, &progress)
        case .load: return await load(hasStale: machine.hasStale, isLeased: machine.isLeased, &progress)
        case .fill(let value): return .filled(await fill(value, &progress))
        case .release:
            if let footing = progress.footing { release(progress.token, footing.prefix) }
        case .keep(let value): subject.keep(value, of: flight, progress)
        case .land(let value): flight.land(.value(value))
        case .landStale(let value):
            // Cancelled: the last waiter has left.
            if !Task.isCancelled { link.counters.staleHits.count() }
            flight.land(.value(value))
        case .fail(let error): flight.land(.failure(error))
        }
        return nil
    }
}

// MARK: The remote tier

extension MissCourse {
    private func read(_ progress: inout Progress) async -> Machine.Event {
        // One that nobody shares has found it when it was filed.
        if progress.footing == nil { await findFooting(&progress) }
        guard let remoteKey = remoteKey(progress) else {
            return .failed(stale: subject.fallback, mayHoldLease: false)
        }
        guard link.breaker.permits(now: progress.now) else {
            link.counters.remoteSkips.count()
            return .failed(stale: subject.fallback, mayHoldLease: false)
        }
        return await asking("cache.remote.read", &progress, mayHoldLease: false) { sentAt, limit, progress in
            guard let found = try await link.tier.read(remoteKey, within: limit) else { return .absent }
            return decoded(found, sentAt, &progress) ?? .absent
        }
    }

    private func acquire(unusable: [UInt8]?, _ progress: inout Progress) async -> Machine.Event {
        if Task.isCancelled { return .loadFailed(CancellationError()) }
        // After a wait the flight has nothing in hand, and asks anew.
        await findFooting(&progress)
        guard let remoteKey = remoteKey(progress) else {
            return .failed(stale: subject.fallback, mayHoldLease: false)
        }
        let terms = LeaseTerms(
            token: progress.token,
            duration: link.options.leaseTime,
            staleBelow: link.options.keptFor,
            unusable: unusable
        )
        return await asking("cache.remote.acquire", &progress, mayHoldLease: true) { sentAt, limit, progress in
            switch try await link.tier.acquire(remoteKey, terms, within: limit) {
            case .found(let found): return decoded(found, sentAt, &progress) ?? .held(stale: nil)
            case .granted(let stale): return .granted(stale: stale.flatMap(decoded))
            case .held(let remaining, let stale):
                progress.waitsUntil = link.now + remaining.milliseconds
                return .held(stale: stale.flatMap(decoded))
            case .full:
                link.counters.unstorable.count()
                return .full
            }
        }
    }

    /// Stores what was loaded; whether the remote tier has taken it.
    private func fill(_ value: any Parcel, _ progress: inout Progress) async -> Bool {
        guard let remoteKey = remoteKey(progress) else { return false }
        let options = link.options
        guard let bytes = try? subject.encode(value), bytes.count <= options.largestValue else {
            link.counters.unstorable.count()
            return false
        }
        let token = progress.token
        // The origin may have taken long.
        progress.now = link.now
        let event = await asking("cache.remote.fill", &progress, mayHoldLease: true) { sentAt, limit, progress in
            progress.freshUntil = sentAt + options.freshFor().milliseconds
            progress.byteCount = bytes.count
            let isStored = try await link.tier.fill(
                remoteKey,
                with: bytes,
                lifetime: options.freshFor() + options.keptFor,
                lease: token,
                within: limit
            )
            if !isStored { link.counters.refusedFills.count() }
            return .filled(isStored)
        }
        if case .filled(let isStored) = event { return isStored }
        return false
    }

    /// Gives the lease back, and waits for nothing. A connection that is lost may be there again in a moment, and the
    /// lease would stand in everyone's way until its time is over.
    private func release(_ token: LeaseToken, _ prefix: String) {
        let remoteKey = Keyspace.remoteKey(name, prefix: prefix)
        Task { [link] in
            let limit = link.options.changeTimeout
            let footing = try? await link.first(within: limit) { $0.footing.map { .success($0) } }
            // Of another epoch nobody asks for this key.
            guard footing?.prefix == prefix else { return }
            try? await link.tier.release(remoteKey, lease: token, within: limit)
        }
    }

    /// Asks the remote tier, within the soft timeout, and reports to the breaker.
    private func asking(
        _ operation: String,
        _ progress: inout Progress,
        mayHoldLease: Bool,
        _ request:
            nonisolated(nonsending) (_ sentAt: Int64, _ limit: Duration, inout Progress) async throws ->
            Machine.Event
    ) async -> Machine.Event {
        let sentAt = progress.now
        let softTimeout = max(.milliseconds(1), link.options.softTimeout)
        do {
            let event = try await LoadSpan.step(operation, cache: link.name) {
                try await request(sentAt, softTimeout, &progress)
            }
            progress.now = link.now
            link.breaker.succeeded()
            return event
        } catch {
            progress.now = link.now
            progress.error = error
            return failure(error, mayHoldLease: mayHoldLease)
        }
    }

    private func failure(_ error: any Error, mayHoldLease: Bool) -> Machine.Event {
        link.noteFailure(error)
        let stale = subject.fallback
        switch error as? RemoteTierError {
        case .full, .tooLarge: return .full
        case .timedOut: return .slow(stale: stale, mayHoldLease: mayHoldLease)
        default: return .failed(stale: stale, mayHoldLease: false)
        }
    }

    /// What the flight asks under: waits for a connection that is being made, as long as a request may take.
    private func findFooting(_ progress: inout Progress) async {
        typealias Look = Result<NearLink.Machine.Footing, RemoteTierError>
        let look = { [flight, name] (machine: inout NearLink.Machine) -> Look? in
            let (footing, isFiledAnew) = machine.begin(flight, forKey: name)
            if isFiledAnew { flight.renewTicket() }
            return footing.map { .success($0) } ?? (machine.expectsFooting ? nil : .failure(.disconnected))
        }
        progress.now = link.now
        var found = link.withMachine(at: progress.now, look)
        if found == nil {
            let limit = max(.zero, link.options.softTimeout)
            found = await link.linkChange.first(within: limit) { link.withMachine(look) }
            progress.now = link.now
        }
        progress.footing = try? found?.get()
    }

    private func remoteKey(_ progress: Progress) -> String? {
        progress.footing.map { Keyspace.remoteKey(name, prefix: $0.prefix) }
    }

    private func decoded(_ found: RemoteValue, _ sentAt: Int64, _ progress: inout Progress) -> Machine.Event? {
        // A value without a lifetime was stored by another program; it is kept as long as one of ours.
        let fresh = found.remaining.map { $0 - link.keptFor } ?? link.options.freshFor()
        guard fresh > .zero else { return nil }
        guard let value = decoded(found.bytes) else { return .undecodable(found.bytes) }
        link.counters.remoteHits.count()
        progress.freshUntil = sentAt + fresh.milliseconds
        progress.byteCount = found.bytes.count
        return .found(value)
    }

    private func decoded(_ bytes: [UInt8]) -> (any Parcel)? {
        let value = try? subject.decode(bytes)
        if value == nil { link.counters.undecodable.count() }
        return value
    }
}

// MARK: The origin, and other processes

extension MissCourse {
    private func load(hasStale: Bool, isLeased: Bool, _ progress: inout Progress) async -> Machine.Event {
        let loading: LoadInBackground<any Parcel>
        if let begun = progress.loading {
            loading = begun
        } else {
            // The last waiter has left, and nobody asks the origin for nobody.
            if Task.isCancelled { return .loadFailed(CancellationError()) }
            link.withMachine { if $0.beginLoad(flight, forKey: name) { flight.renewTicket() } }
            // Under a lease only what was loaded since may be stored.
            let other = isLeased ? nil : link.loadsUnderWay[name]
            progress.ownsLoad = other == nil
            loading = other ?? beginLoading()
            progress.loading = loading
        }
        let limit = hasStale ? link.options.softLoadTimeout : nil
        switch await loading.outcome(within: limit, isOwn: progress.ownsLoad) {
        case .ended(.success(let value)): return .loaded(value)
        case .ended(.failure(let error)): return .loadFailed(error)
        case .left: return .loadFailed(CancellationError())
        case .isSlow:
            if !isLeased { leaveToOthers(loading, &progress) }
            return .loadIsSlow
        }
    }

    /// The call of the origin, counted.
    private func beginLoading() -> LoadInBackground<any Parcel> {
        link.counters.loads.count()
        return LoadInBackground { [subject, counters = link.counters] in
            do {
                return try await subject.load()
            } catch {
                counters.loadFailures.count()
                throw error
            }
        }
    }

    /// Has the next flight of the key take over a load, unless the key has changed since it began.
    private func leaveToOthers(_ loading: LoadInBackground<any Parcel>, _ progress: inout Progress) {
        guard link.withMachine({ $0.flight(of: name) === flight }) else { return }
        progress.ownsLoad = false
        link.loadsUnderWay.add(loading, forKey: name)
        // It may have changed before the load was there to be forgotten.
        if flight.hasChanged.load(ordering: .acquiring) { link.loadsUnderWay.forget(name) }
    }

    /// Waits until the process that holds the lease has ended, or its time is over.
    private func wait(hasStale: Bool, _ progress: inout Progress) async -> Machine.Event {
        if progress.waits == 0 { link.counters.leaseWaits.count() }
        if Task.isCancelled { return .loadFailed(CancellationError()) }
        // A report wakes the wait; the poll behind it is for reports that came before the wait could begin.
        let poll = Int64.random(in: 50...100) << min(progress.waits, 2)
        progress.waits += 1
        let rest = max(1, min(poll - 1, progress.waitsUntil - link.now) + 1)
        let isPaused = link.withMachine { $0.pause(flight, forKey: name) }
        if isPaused, let wake = flight.wake {
            if await wake.wait(atMost: .milliseconds(rest)) { return .woken }
        } else {
            // Nobody wakes a flight that has lost its place, as where a lease ends while it asks for it. It asks again,
            // and is filed anew unless another one has its place by then.
            try? await Task.sleep(for: .milliseconds(min(rest, 5 << min(progress.waits - 1, 5))))
        }
        if hasStale, let limit = link.options.softLoadTimeout, link.now - progress.began > limit.milliseconds,
            !isPaused || link.withMachine({ $0.resume(flight, forKey: name) })
        {
            return .loadIsSlow
        }
        return .woken
    }
}
