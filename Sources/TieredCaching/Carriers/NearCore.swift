//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryCaching
import Synchronization

/// A value near, and when it may be served.
@usableFromInline
struct NearEntry<Value: Sendable>: Sendable {
    @usableFromInline let value: Value
    @usableFromInline let stamp: NearStamp
}

/// What is compiled with the program, where key and value are known. Elsewhere their types are looked up by name at run
/// time, for each value.
@usableFromInline
struct NearCode<Key, Value>: Sendable
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    /// Puts an entry into the near cache, with its cost, what it took to make and its ticket.
    @usableFromInline
    typealias Insertion =
        @Sendable (MemoryCache<Key, NearEntry<Value>>, NearEntry<Value>, Key, Int, Double, LoadTicket) -> Void

    let insert: Insertion
    let pack: @Sendable (Value) -> any Parcel
    let unpack: @Sendable (any Parcel) -> Value

    @usableFromInline
    init(
        insert: @escaping Insertion,
        pack: @escaping @Sendable (Value) -> any Parcel,
        unpack: @escaping @Sendable (any Parcel) -> Value
    ) {
        (self.insert, self.pack, self.unpack) = (insert, pack, unpack)
    }
}

/// The near cache at work: its entries, and what happens to them. It applies the remote tier's events on the thread
/// that brings them.
///
/// A change takes the flight out of the machine and revokes its ticket in one step, then removes the entry. Keeping a
/// value asks the ticket under the entry's lock. So either the ticket is found revoked, or the entry is removed after it
/// was kept.
@usableFromInline
final class NearCore<Key, Value>: Sendable
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    @usableFromInline let near: MemoryCache<Key, NearEntry<Value>>
    let link: NearLink
    let codec: any CacheCodec<Value>
    /// What a near value costs; nil for the number of its encoded bytes.
    let cost: (@Sendable (Key, Value) -> Int)?
    /// How far the removal of entries of ended generations has come; nil when it is done.
    private let sweep = Mutex<EngineSweep?>(nil)

    let code: NearCode<Key, Value>

    init(
        near: MemoryCache<Key, NearEntry<Value>>,
        link: NearLink,
        codec: any CacheCodec<Value>,
        cost: (@Sendable (Key, Value) -> Int)?,
        code: NearCode<Key, Value>
    ) {
        self.code = code
        self.codec = codec
        self.cost = cost
        self.near = near
        self.link = link
    }

    // MARK: Events

    func receive(_ event: RemoteTierEvent) {
        let now = link.now
        switch event {
        case .tick:
            link.withMachine { _ in }
            removeSomeOfEndedGenerations()
        case .alive(let duration): link.withMachine { $0.alive(now: now, for: duration.milliseconds) }
        case .connected(let duration):
            link.breaker.succeeded()
            // What has changed while there was no connection is not known.
            link.loadsUnderWay.forgetAll()
            link.tell(link.revoking { $0.connected(now: now, aliveFor: duration.milliseconds) })
            beginGeneration()
        case .flushed: flush()
        case .invalidated(let keys):
            for key in keys { invalidate(key) }
        case .lost: link.tell(link.revoking { $0.lost(now: now) })
        }
    }

    private func invalidate(_ remoteKey: String) {
        if remoteKey == link.keyspace.epochKey {
            for flight in link.withMachine({ $0.epochReported() }) { flight.revokeSharing() }
            link.loadsUnderWay.forgetAll()
            join()
        } else if let key = link.keyspace.localKey(of: remoteKey, prefix: link.withMachine { $0.footing?.prefix }) {
            // While the epoch is not known, or in doubt, another cache of this process may have changed the key under
            // an epoch that it knows. Loads go on meanwhile, for as long as the epoch cannot be read.
            link.counters.invalidations.count()
            let entryKey = Key(key)
            drop(key, entryKey)
            // A description that leads back to no key, or to another one, may be that of any entry.
            if entryKey.map({ KeyName($0.description) }) != KeyName(key) { flush() }
        }
    }

    /// Everything has changed.
    func flush() {
        link.tellOfChange(of: link.revoking { $0.flushed() })
        beginGeneration()
    }

    private func beginGeneration() {
        noteGeneration()
        join()
    }

    /// Counts a generation that has begun, and has what the last one has left removed.
    private func noteGeneration() {
        link.counters.generations.count()
        sweep.withLock { $0 = EngineSweep() }
    }

    private func join() { link.join { [self] in noteGeneration() } }

    /// The cache is gone: ends what goes on as long as there is a connection.
    func end() { receive(.lost) }

    /// The key has changed, or is about to.
    func drop(_ name: String, _ key: Key?) {
        let concerned = link.revoking { $0.changed(name) }
        link.loadsUnderWay.forget(name)
        link.tell(concerned)
        if let key { near.removeValue(forKey: key) }
    }

    // MARK: Entries

    /// Keeps what `flight` has read, unless its key has changed since.
    ///
    /// - Parameters:
    ///   - stamp: the generation that the flight has asked under, and until when the value is fresh.
    ///   - began: when the miss began; what is worth most near is what took longest.
    ///   - now: when the remote tier's answer had come.
    func keep(
        _ value: Value,
        of flight: TierFlight,
        forKey key: Key,
        stamp: NearStamp,
        cost: Int,
        began: Int64,
        now: Int64
    ) {
        code.insert(near, NearEntry(value: value, stamp: stamp), key, cost, Double(max(1, now - began)), flight.ticket)
    }

    /// Removes a few of the entries that ended generations have left. Nothing reports them, and nothing serves them.
    private func removeSomeOfEndedGenerations() {
        guard var place = sweep.withLock({ $0.take() }) else { return }
        let generation = link.withMachine { $0.generation }
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
        guard link.options.keptFor > .zero, let entry = near.value(forKey: key) else { return nil }
        link.counters.unservedHits.count()
        guard link.withMachine({ $0.isOfLastGeneration(entry.stamp) }) else { return nil }
        return entry.stamp.freshUntil + link.options.keptFor.milliseconds > link.now ? entry.value : nil
    }

    /// A near value that may be served though nothing proves it current.
    func disconnectedValue(forKey key: Key) -> Value? {
        guard case .serveStale(let limit) = link.options.whileDisconnected, let entry = near.value(forKey: key) else {
            return nil
        }
        link.counters.unservedHits.count()
        // Read before the lock: the clock may be the user's.
        let now = link.now
        let isServed = link.withMachine { $0.isServedDisconnected(entry.stamp, now: now, upTo: limit.milliseconds) }
        guard isServed else { return nil }
        link.counters.staleHits.count()
        return entry.value
    }
}

/// What the tier reports to, for as long as the cache is there.
///
/// Apart from the core, because references to an object that anybody holds weakly are counted in a table beside it for
/// ever: a remote hit counts the core several times.
final class NearSubscriber<Key, Value>: RemoteTierSubscriber
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    private let core: NearCore<Key, Value>

    init(_ core: NearCore<Key, Value>) { self.core = core }

    deinit { core.end() }

    func receive(_ event: RemoteTierEvent) { core.receive(event) }
}
