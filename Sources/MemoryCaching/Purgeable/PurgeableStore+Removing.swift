//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

// Removing: an entry leaves the index under its shard's lock; what it held goes after unlocking.
extension PurgeableStore {
    /// Takes an entry out of the index and gives its room back. The caller is inside the gate, and lets go of the
    /// `departures` by ``settle(_:_:)`` after unlocking.
    func take(
        _ slot: Int,
        _ hash: IndexHash,
        _ state: inout PurgeableShard.State,
        _ shard: Int,
        _ departures: inout PurgeableDepartures
    ) {
        let location = LogLocation(word: state.index[slot].pointee.location)
        note(slot, location, hash, state, shard, &departures)
        keys?.moveOut(shard: shard, slot: slot, into: &departures.keys)
        state.remove(slot, hash)
        if let bytes = release(location, &state, &departures) { room.giveBack(count: 1, byteCount: bytes) }
    }

    /// Releases the value at `location` and answers its bytes; nil if it went with its segment, which has given its
    /// room back.
    func release(
        _ location: LogLocation,
        _ state: inout PurgeableShard.State,
        _ departures: inout PurgeableDepartures
    ) -> Int? {
        let bytes = state.byteCount(location)
        if let large = state.release(location) {
            departures.large.append(large)
        } else {
            switch log.release(location) {
            case .counted: break
            case .last: departures.retired.append(location.segment)
            case .stale:
                staleCount.wrappingSubtract(1, ordering: .relaxed)
                return nil
            }
        }
        departures.count += 1
        departures.bytes += bytes
        return bytes
    }

    /// Lets go of what has left the index; no lock held.
    func settle(_ departures: inout PurgeableDepartures, _ cause: RemovalCause) {
        for segment in departures.retired { log.discardRetired(segment) }
        for value in departures.large { largeBytes.wrappingSubtract(value.byteCount, ordering: .relaxed) }
        counters.removed(departures.count, cause)
        if cause != .discarded, !departures.told.isEmpty { putOff(departures.told, cause) }
        departures = PurgeableDepartures()
    }

    @inline(__always)
    func remove(
        _ matching: KeyMatching,
        if condition: Condition? = nil
    ) -> Bool {
        let hash = hash(matching)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = lifetimes.now
        var removal = PurgeableRemoval()
        var sparse: Int?
        withEntry(hash, matching) { state, shard, slot in
            guard let slot else { return }
            if let condition, !holds(condition, slot, state) { return }
            take(slot, hash, &state, shard, now: now, &removal)
            sparse = state.isSparse ? shard : nil
        }
        let bytes = removal.departures.bytesInSegments
        let wasThere = settle(&removal)
        if let sparse { shrink(sparse) }
        log.gate.leave(pass)
        maintainAfterRemoval(of: bytes)
        return wasThere
    }

    /// Takes an entry out of the index that the owner removes. The caller is inside the gate.
    func take(
        _ slot: Int,
        _ hash: IndexHash,
        _ state: inout PurgeableShard.State,
        _ shard: Int,
        now: Int64,
        _ removal: inout PurgeableRemoval
    ) {
        removal.location = LogLocation(word: state.index[slot].pointee.location)
        removal.isExpired = now != .min && state.deadline(of: slot).next <= now
        take(slot, hash, &state, shard, &removal.departures)
    }

    /// Lets go of what the owner has removed, and says whether it was there, as lookups see it; no lock held.
    func settle(_ removal: inout PurgeableRemoval) -> Bool {
        let departures = removal.departures
        let wasThere =
            if let location = removal.location, departures.count > 0 { wasThere(location, departures) } else { false }
        settle(&removal.departures, wasThere ? (removal.isExpired ? .expired : .removed) : .discarded)
        return wasThere && !removal.isExpired
    }

    /// Whether the value that was at `location`, which has been taken out of the index, was still there.
    private func wasThere(_ location: LogLocation, _ departures: borrowing PurgeableDepartures) -> Bool {
        if location.isLarge { return !departures.large.contains { $0.isContentDiscarded } }
        // Its segment was retired with it, and has its pages until that is settled.
        if departures.retired.contains(location.segment) { return !log.hasLostPage(location) }
        // One that another thread has retired since shows no pages, but had them when the item was taken.
        return !log.isLost(location) || log.isStale(location)
    }

    func removeAll() {
        let pass = log.gate.enter(0)
        for shard in 0..<Self.shardCount {
            var departures = PurgeableDepartures()
            // The old index is freed after unlocking.
            var old = PurgeableShard.State()
            locked(shard: shard) { state in
                swap(&state, &old)
                state.lookups = old.lookups
                state.insertions = old.insertions
                // It is outstanding until it is spent or revoked: forgotten, it would count for as long as the cache is.
                state.credit = old.credit
                // What is stored anew may lie where a list has still to come by, and have been listed already.
                state.deals = old.deals &+ 1
                for slot in 0..<old.index.slotCount where old.index[slot].pointee.location != 0 {
                    let location = LogLocation(word: old.index[slot].pointee.location)
                    note(slot, location, hash(old.index[slot].pointee.word), old, shard, &departures)
                    keys?.moveOut(shard: shard, slot: slot, into: &departures.keys)
                    _ = release(LogLocation(word: old.index[slot].pointee.location), &old, &departures)
                }
                room.giveBack(count: departures.count, byteCount: departures.bytes)
                keys?.shrink(shard: shard, toSlots: 0)
                publishTable(of: state, shard)
            }
            settle(&departures, .removed)
        }
        log.sealActive()
        log.gate.leave(pass)
        remembersGhosts.store(false, ordering: .relaxed)
        maintenance.wasEmptied.store(true, ordering: .relaxed)
    }
}
