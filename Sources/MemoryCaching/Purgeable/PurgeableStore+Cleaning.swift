//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// Cleaning: what is alive in a segment is moved to another, and the segment emptied.
///
/// The cleaner goes through the segment and asks the index about every word that may be the tag of an item. So what it
/// costs depends on the segment alone and not on how many entries the index has. Bytes of dead items may look like tags
/// and cost a question; no answer is wrong, because only the index knows where items begin.
extension PurgeableStore {
    /// Goes on with what is to be done, one step. The caller is alone at it (``PurgeableMaintenance/alone(_:)``).
    func doChores() {
        cleanSome()
        sweepSome()
        maintenance.hasChores.store(chores.isAny, ordering: .relaxed)
    }

    /// Goes on with the segment that is being cleaned, if any.
    func cleanSome() {
        guard let cleaning = chores.cleanings.last else { return }
        let pass = log.gate.enter(0)
        var unread = PurgeableDepartures()
        var hasRoom = true
        let end = withUnsafeTemporaryAllocation(byteCount: LogLocation.maximumByteCount, alignment: 16) { buffer in
            log.scan(
                cleaning.segment,
                generation: cleaning.generation,
                from: chores.cleanedBytes,
                byteCount: PurgeableChores.bytesPerStep
            ) { hash48, offset in
                let hash = IndexHash(hash48: hash48)
                let found: LogLocation? = locked(hash) { state, shard in
                    guard let slot = slot(of: hash, in: cleaning, offset, state) else { return nil }
                    let location = LogLocation(word: state.index[slot].pointee.location)
                    if !cleaning.keeps(location) {
                        take(slot, hash, &state, shard, &unread)
                        state.ghosts?.insert(hash)
                    }
                    return location
                }
                guard let found else { return nil }
                if cleaning.keeps(found), hasRoom {
                    hasRoom = move(found, hash, cleaning, buffer)
                }
                return found.byteCount
            }
        }
        settle(&unread, .memoryPressure)
        chores.cleanedBytes = end ?? SegmentLog.segmentBytes
        if !hasRoom {
            // No memory for a copy: the segment stays as it is.
            chores.cleaningEnded()
        } else if chores.cleanedBytes >= SegmentLog.segmentBytes {
            // What is left in it has lost a page.
            if end != nil { empty(cleaning.segment, .discarded) }
            chores.cleaningEnded()
        }
        log.gate.leave(pass)
    }

    /// The slot of the entry whose item begins at `offset` of the segment.
    private func slot(
        of hash: IndexHash,
        in cleaning: PurgeableChores.Cleaning,
        _ offset: Int,
        _ state: borrowing PurgeableShard.State
    ) -> Int? {
        var found: Int?
        state.index.forEachTagged(hash) { slot in
            let location = LogLocation(word: state.index[slot].pointee.location)
            if !location.isLarge, location.segment == cleaning.segment, location.offset == offset,
                location.generation == cleaning.generation & 0x3FF
            {
                found = slot
            }
            return found == nil
        }
        return found
    }

    /// Copies an item to the main stream and points its entry there; false where the system has no memory for it.
    private func move(
        _ location: LogLocation,
        _ hash: IndexHash,
        _ cleaning: PurgeableChores.Cleaning,
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        // A lost item stays behind.
        guard log.read(location, hash48: hash.hash48, into: buffer.baseAddress!) == .copied else { return true }
        guard let reservation = log.reserve(byteCount: location.byteCount, stream: SegmentPolicy.main) else {
            return false
        }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<location.byteCount])
        log.write(bytes, hash48: hash.hash48, at: reservation)
        let isMoved = locked(hash) { state, _ in
            // Replaced or removed meanwhile: then the copy is what nobody wants.
            guard let slot = slot(of: hash, in: cleaning, location.offset, state) else { return false }
            state.index[slot].pointee.location = reservation.location.word
            return true
        }
        _ = log.forget(isMoved ? location : reservation.location)
        log.close(reservation)
        return true
    }
}

extension PurgeableChores.Cleaning {
    /// Whether the item at `location` stays.
    fileprivate func keeps(_ location: LogLocation) -> Bool {
        switch keeps {
        case .all: true
        case .read: location.isReferenced
        case .nothing: false
        }
    }
}
