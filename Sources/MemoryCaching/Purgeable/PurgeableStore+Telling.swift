//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

// What leaves is noted under the lock, with its bytes, and told when locks and gate have been left.
extension PurgeableStore {
    /// Called with the key (its word, or the key itself where it is no integer), its bytes and why they left.
    typealias Observer = @Sendable (_ word: UInt64, _ key: Any?, _ bytes: [UInt8], RemovalCause) -> Void

    /// Takes down what is about to leave `slot`, or to be replaced in it, where somebody wants to be told. The caller
    /// is inside the gate and holds the shard's lock. Bytes that the kernel has taken are told of to nobody.
    @inline(__always)
    func note(
        _ slot: Int,
        _ location: LogLocation,
        _ hash: IndexHash,
        _ state: borrowing PurgeableShard.State,
        _ shard: Int,
        _ departures: inout PurgeableDepartures
    ) {
        if observer != nil { noteDeparture(slot, location, hash, state, shard, &departures) }
    }

    private func noteDeparture(
        _ slot: Int,
        _ location: LogLocation,
        _ hash: IndexHash,
        _ state: borrowing PurgeableShard.State,
        _ shard: Int,
        _ departures: inout PurgeableDepartures
    ) {
        let large = location.isLarge ? state.large[location.largePlace]?.value : nil
        let bytes = location.isLarge ? nil : copy(location, hash)
        guard large != nil || bytes != nil else { return }
        let word = state.index[slot].pointee.word
        let key = keys?.anyKey(shard: shard, slot: slot)
        departures.told.append(PurgeableDeparture(word: word, key: key, bytes: bytes, large: large))
    }

    /// Keeps departures until ``tellRemovals()``.
    func putOff(_ departures: [PurgeableDeparture], _ cause: RemovalCause) {
        guard let observer else { return }
        UserCode.putOff {
            for departure in departures {
                guard let bytes = departure.bytes ?? departure.large?.copyBytes() else { continue }
                observer(departure.word, departure.key, bytes, cause)
            }
        }
    }

    /// Tells of what this thread has made leave. Called with no lock held and outside the gate, because the handler may
    /// use the cache.
    @inline(__always)
    func tellRemovals() { if hasObserver { UserCode.tell() } }
}
