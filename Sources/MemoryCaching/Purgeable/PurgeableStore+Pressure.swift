//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// The cache before the governor: what it holds in volatile pages the kernel takes by itself, and their entries go with
/// them. For sale is only what the kernel cannot take.
extension PurgeableStore: ReclaimableCache {
    /// Bytes that a chunk of 128 entries takes: 16 each in the chunk and about 6 in the table.
    static let bytesPerChunk = PurgeableIndex.chunkSize * 22

    /// The worth of the next byte to go, as where nobody says what an item costs: one item's worth over the bytes of an
    /// average item. Infinite where there is nothing to sell.
    @usableFromInline
    var marginalPrice: Double {
        let count = room.count.held
        guard count > 0, reclaimableBytes > 0 else { return .infinity }
        return Double(count) / Double(max(1, room.bytes.held))
    }

    /// Bytes of segments and large values that the kernel cannot take, beyond the active segments.
    @usableFromInline
    var reclaimableBytes: Int {
        max(0, log.ordinaryBytes - SegmentLog.streamCount * SegmentLog.segmentBytes)
            + largeOrdinary.load(ordering: .relaxed)
    }

    /// Nothing: unused content is in volatile pages, which the kernel takes before anything else.
    @usableFromInline
    func discardUnusedContent() -> Int { 0 }

    /// Evicts what the kernel should have been able to take but cannot, oldest first, and drops the entries of what it
    /// has taken meanwhile.
    @usableFromInline
    func evict(bytes: Int, below price: Double) -> Int {
        guard bytes > 0 else { return 0 }
        // Not beside others who look after the cache: what they are moving must not be emptied under them.
        let freed = marginalPrice <= price ? maintenance.alone { evictOrdinary(bytes: bytes) } ?? 0 : 0
        counters.bytesAsked.wrappingAdd(bytes, ordering: .relaxed)
        counters.bytesReturned.wrappingAdd(freed, ordering: .relaxed)
        let elapsed = PurgeableMaintenance.now() &- maintenance.lastCensus.load(ordering: .relaxed)
        if elapsed > PurgeableMaintenance.nanosecondsBetweenRequests { maintain(.time) }
        tellRemovals()
        return freed
    }

    private func evictOrdinary(bytes: Int) -> Int {
        var freed = 0
        for segment in log.sealedSegmentNumbers() where freed < bytes && !segment.isVolatile {
            if observer != nil { emptyTelling(segment.number, generation: segment.generation) }
            if observer != nil || empty(segment.number, .memoryPressure) > 0 { freed += SegmentLog.segmentBytes }
        }
        if freed < bytes {
            let before = largeOrdinary.load(ordering: .relaxed)
            lookAfterLargeValues(ordinaryLimit: max(0, before - (bytes - freed)))
            freed += max(0, before - largeOrdinary.load(ordering: .relaxed))
        }
        return freed
    }

    /// Empties a segment entry by entry, and tells of each few before the next go: copies of all could be more than
    /// ordinary memory has room for. The caller is alone at it.
    private func emptyTelling(_ segment: Int, generation: UInt16) {
        chores.drop(segment, generation: generation)
        while chores.drops(segment) {
            cleanSome()
            tellRemovals()
        }
    }

    /// Makes the next insertion of every shard ask the governor again.
    @usableFromInline
    func revokeInsertionCredit() -> Int {
        (0..<Self.shardCount).reduce(0) { bytes, shard in bytes + locked(shard: shard) { $0.credit.revoke() } }
    }

    /// Asks the governor for another credit; no lock held.
    func renewCredit(_ hash: IndexHash) {
        guard let pressure else { return }
        let spent = locked(hash) { state, _ in state.credit.take() }
        let next = pressure.renew(spent, for: self)
        locked(hash) { state, _ in state.credit.add(next) }
    }
}
