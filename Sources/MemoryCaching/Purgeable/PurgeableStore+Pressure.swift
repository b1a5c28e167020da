//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// The cache before the governor: what it holds in volatile pages the kernel takes by itself, and their entries go with
/// them. For sale is only what the kernel cannot take: values in other pages, and keys that are no integers. Those lie
/// in the allocator's memory, and may be larger than their values.
///
/// The limits of setrlimit(2) count what is mapped, and for their sake the kernel takes nothing. Where there is one,
/// each value is charged; where one is the nearest limit, all values are for sale.
extension PurgeableStore: ReclaimableCache {
    /// Bytes that an entry takes: 16 in a chunk of the index and about 6 in its table.
    static let bytesPerEntry = 22

    /// The worth of the next byte to go, as where nobody says what an item costs: one item's worth over the bytes of an
    /// average item, or of an average key where no value is for sale. Infinite where there is nothing to sell.
    @usableFromInline
    var marginalPrice: Double {
        let count = room.count
        guard count > 0 else { return .infinity }
        if ordinaryBytes > 0 { return Double(count) / Double(max(1, room.byteCount)) }
        return keys == nil ? .infinity : 1 / Double(bytesPerKey)
    }

    /// For sale by itself is what the kernel should have been able to take, at a price that does not age. Where all values
    /// are for sale they are so beside those of other caches, and age as those do: oldest first, by bytes inserted. They
    /// age also while there are none to sell, because all lie in active segments.
    @usableFromInline
    var sellingPoint: SellingPoint {
        let price = marginalPrice
        guard countsMapped else { return SellingPoint(height: price) }
        let bytes = Double(max(1, room.byteCount)) / Double(max(1, room.count))
        let worth = Double(PolicyLearner.firstStay)
        return SellingPoint(
            height: price.isFinite ? worth : price,
            bytes: bytes,
            worth: worth / bytes,
            aging: .byUse(oldest: Double(insertedBytes - ordinaryBytes))
        )
    }

    /// Bytes inserted, by which values age; they cannot be raised.
    @usableFromInline
    func age(by step: Double) -> Double { Double(insertedBytes) }

    @usableFromInline
    var reclaimableBytes: Int {
        guard keys != nil else { return ordinaryBytes }
        let (bytes, overflow) = room.count.multipliedReportingOverflow(by: bytesPerKey)
        return overflow ? .max : ordinaryBytes.addingReportingOverflow(bytes).partialValue
    }

    /// Whether the kernel takes no pages for the sake of the nearest limit.
    private var countsMapped: Bool { pressure?.governor.countsMapped.load(ordering: .relaxed) ?? false }

    /// Bytes of segments and large values that the kernel cannot take, or for the nearest limit need not, beyond the
    /// active segments.
    private var ordinaryBytes: Int {
        let countsMapped = countsMapped
        let inSegments = log.ordinaryBytes + (countsMapped ? log.volatileBytes : 0)
        let large = countsMapped ? largeBytes.load(ordering: .relaxed) : largeOrdinary.load(ordering: .relaxed)
        return max(0, inSegments - SegmentLog.streamCount * SegmentLog.segmentBytes) + large
    }

    /// Bytes that each entry with a key of its own is taken to hold in the allocator's memory.
    private var bytesPerKey: Int { pressure?.bytesPerEntry ?? Int(InsertionEstimate.least) }

    /// Entries with keys of their own: values are not in the allocator's memory.
    @usableFromInline
    var holdings: (entries: Int, costs: Int) { (keys == nil ? 0 : room.count, 0) }

    /// Lets the kernel have what is being filled, too: of sealed pages it takes as many as it needs. A process in 64 MiB
    /// with a cache for each of 800 tenants, of which none fills a segment, was killed without. Less than a sixteenth
    /// of a segment stays as it is, else a cache in use would take one for every few values.
    @usableFromInline
    func offerToKernel() -> Int { log.sealActive(holding: SegmentLog.stepBytes) }

    /// Evicts what the kernel should have been able to take but cannot, oldest first, drops the entries of what it has
    /// taken meanwhile, and if that is not enough lets entries go for the sake of their keys.
    @usableFromInline
    func evict(bytes: Int, below price: Double) -> Int {
        guard bytes > 0 else { return 0 }
        let isCheap = marginalPrice <= price
        var freed = 0
        if isCheap {
            // Not beside others who look after the cache: what they are moving must not be emptied under them. Who does
            // may not run for long, and where the kernel takes nothing nobody can wait for that: then one by one.
            let inWhole = maintenance.alone { evictOrdinary(bytes: bytes) }
            freed = inWhole ?? 0
            if countsMapped {
                freed += evictLargeValues(bytes: bytes - freed)
                let bytesPerEntry = room.byteCount / max(1, room.count)
                if inWhole == nil { freed += evictEntries(bytes: bytes - freed, of: bytesPerEntry) }
            }
        }
        if countsMapped { log.unmapFree() }
        let elapsed = PurgeableMaintenance.now() &- maintenance.lastCensus.load(ordering: .relaxed)
        if elapsed > PurgeableMaintenance.nanosecondsBetweenRequests { maintain(.time) }
        tellRemovals()
        if isCheap, keys != nil { freed += evictEntries(bytes: bytes - freed, of: bytesPerKey) }
        return freed
    }

    /// Evicts entries of `size` bytes each.
    private func evictEntries(bytes: Int, of size: Int) -> Int {
        var freed = 0
        while freed < bytes, evictOne(sparing: nil, .memoryPressure) != nil {
            freed += max(1, size)
            // One at a time: a copy of each value is made for whoever is told.
            tellRemovals()
        }
        return freed
    }

    private func evictOrdinary(bytes: Int) -> Int {
        var freed = 0
        let countsMapped = countsMapped
        for segment in log.sealedSegmentNumbers() where freed < bytes && (countsMapped || !segment.isVolatile) {
            if observer != nil { emptyTelling(segment.number, generation: segment.generation) }
            if observer != nil || empty(segment.number, .memoryPressure) > 0 { freed += SegmentLog.segmentBytes }
        }
        if freed < bytes, !countsMapped {
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

    /// Charges a new entry to the credit of its shard, which is locked, and says whether the governor must be asked.
    ///
    /// Where keys are integers only the index is ordinary memory: growth is charged by the chunk, and entries in freed
    /// slots cost nothing. Where a limit counts what is mapped each value is charged, too. Other keys may be a thousand
    /// times as large from one insertion to the next, and few types tell how large theirs are: one insertion in sixteen
    /// looks at the clock, as in ``CacheEngine``.
    @inline(__always)
    func charge(
        _ slot: Int,
        _ hash: IndexHash,
        _ state: inout PurgeableShard.State,
        keyBytes: Int,
        valueBytes: Int
    ) -> Bool {
        let isMappingLimited = isMappingLimited
        guard isMappingLimited || keys != nil else {
            let isNewChunk = slot & (PurgeableIndex.chunkSize - 1) == 0 && slot + 1 == state.index.slotCount
            return isNewChunk && state.credit.spend(PurgeableIndex.chunkSize * Self.bytesPerEntry)
        }
        let isSpent = state.credit.charge(Self.bytesPerEntry + keyBytes + (isMappingLimited ? valueBytes : 0))
        return isSpent || (state.credit.isNearMark || hash.isSixteenth) && pressure?.governor.isLookOverdue ?? false
    }

    /// Charges a value in place of another, which stays mapped until its segment is emptied.
    @inline(__always)
    func chargeReplacement(_ hash: IndexHash, _ state: inout PurgeableShard.State, valueBytes: Int) -> Bool {
        guard isMappingLimited else { return false }
        let isSpent = state.credit.charge(valueBytes)
        return isSpent || (state.credit.isNearMark || hash.isSixteenth) && pressure?.governor.isLookOverdue ?? false
    }

    /// Whether any limit counts what is mapped.
    @inline(__always)
    private var isMappingLimited: Bool { pressure?.governor.isMappingLimited.load(ordering: .relaxed) ?? false }

    /// Asks the governor for another credit; no lock held.
    func renewCredit(_ hash: IndexHash) {
        guard let pressure else { return }
        let spent = locked(hash) { state, _ in state.credit.take() }
        let next = pressure.renew(spent, for: self)
        locked(hash) { state, _ in state.credit.add(next) }
    }
}
