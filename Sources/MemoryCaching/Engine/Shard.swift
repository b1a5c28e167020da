//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// One part of a cache: a lock, the entries whose hashes lead here, and the policy's order of them.
///
/// Lies in raw memory, in a block with its siblings, behind the word of its lock; every member is read and written
/// under the lock. No member runs code of the user's: what leaves is handed to the caller, who lets go of it after
/// unlocking.
///
@usableFromInline
struct Shard<Key: Hashable, Value>: ~Copyable {
    // In cache lines of 64 bytes, the first of which begins with the lock, 16 bytes before. A hit writes the first and
    // reads the second; an exchange of a value writes the first and the third; an insertion into a full cache, with its
    // eviction, writes the first and the third to sixth, the third because the process's memory is accounted for.
    // Lines that another processor wrote last are what a second thread costs, and lines that lie no more in the nearest
    // cache are what the first one waits for.

    @usableFromInline var lookups = LookupCounters()
    /// Whether the entries are in another shard: in ``origin`` still, or in those that the cache has made since.
    @usableFromInline var isElsewhere = false
    /// Entries below which the order of this shard alone says little, see ``isFew``: 64, and 128 in order of use, where
    /// moves are what a shard tells the time by.
    @usableFromInline let few: UInt8
    /// In order of use, rises with each wait for the lock, and falls with each move.
    @usableFromInline var contendedMoves: UInt16 = 0
    /// Entries beyond which the cache makes more shards; the largest number where it makes no more.
    @usableFromInline let mostEntries: UInt32
    /// Values that were exchanged in place; see ``exchange(_:_:with:cost:)``. Each is an insertion, and a replaced value.
    @usableFromInline var exchanges = 0
    @usableFromInline var storage: EntryStorage<Key, Value>
    /// In the third line, but for what nobody asks of it before it is spent.
    @usableFromInline var credit = InsertionCredit()

    /// L as this shard knows it: raised by its own victims at once, and by those of other shards whenever it hands in
    /// its evidence. So a victim writes nothing that another shard reads.
    @usableFromInline var inflation: Double
    /// Victims taken from here on behalf of newcomers; each sixteenth looks at other shards.
    @usableFromInline var victims: UInt32 = 0
    /// Insertions but for ``exchanges``.
    @usableFromInline var insertions = 0
    @usableFromInline var evidence = PolicyEvidence()
    @usableFromInline var ghosts = GhostTable()
    /// In order of use, entries that cost nothing.
    @usableFromInline var costlessHeld: UInt32 = 0
    /// Sampled entries here, and as many as the learner has been told of: a line that each insertion writes knows how
    /// far the two lie apart.
    @usableFromInline var sampled: Int32 = 0
    @usableFromInline var toldSampled: Int32 = 0
    @usableFromInline var counters = ShardCounters()

    /// Cost that has been handed out to this shard beyond what its entries take; see ``CacheEngine/mostStock(of:)``.
    @usableFromInline var stock = 0
    /// In order of use, how far the oldest entries go, of those that cost something and of the others.
    @usableFromInline var costlyMark = OldestMark()
    @usableFromInline var costlessMark = OldestMark()
    /// What heights are counted from, so that a `Float` holds them however long the cache runs.
    @usableFromInline var base: Double
    @usableFromInline let room: UnsafeMutablePointer<Room>
    @usableFromInline let policy: UnsafeMutablePointer<SharedPolicy>
    /// Where the heights of the least heads are published, of all and of those that cost something; nil while this is
    /// the only shard. Others read them without this shard's lock, so they are hints.
    @usableFromInline let published: UnsafeMutablePointer<Atomic<UInt64>>?
    @usableFromInline let tablePlace: TablePlace

    // A line of its own, and the weights by level too: what an insertion reads where it writes nothing.
    @usableFromInline var order = EvictionOrder()
    /// The directory that this shard stands in; see ``CacheEngine/directory``.
    @usableFromInline let directory: UInt
    /// The shard that the entries come from; nil for the first of all.
    @usableFromInline let origin: UnsafeMutablePointer<Shard>?

    /// Uses of sampled entries that the learner has not been told of. Those of entries that have no lifetime write one
    /// line.
    @usableFromInline var uses = SampledUses()
    @usableFromInline var weights = PolicyWeights(classWeights: PolicyLearner().classWeights)
    /// Made with the first entry that has a lifetime.
    @usableFromInline var wheel: TimerWheel?

    // What order of use needs besides, in the last line.

    /// The height up to which entries may go before the other shards are looked at again: for a cost limit, and for
    /// other causes.
    @usableFromInline var latestVictim = -Double.infinity
    @usableFromInline var latestCostlyVictim = -Double.infinity

    // And out of order of use.

    @usableFromInline var victimsSinceRebasing: UInt32 = 0

    @inlinable
    init(
        storage: EntryStorage<Key, Value>,
        room: UnsafeMutablePointer<Room>,
        policy: UnsafeMutablePointer<SharedPolicy>,
        published: UnsafeMutablePointer<Atomic<UInt64>>?,
        tablePlace: TablePlace,
        directory: UInt,
        origin: UnsafeMutablePointer<Shard>?,
        mostEntries: UInt32,
        isByUse: Bool
    ) {
        self.storage = storage
        self.room = room
        self.policy = policy
        self.published = published
        self.tablePlace = tablePlace
        self.directory = directory
        self.origin = origin
        self.mostEntries = mostEntries
        few = isByUse ? 128 : 64
        inflation = policy.pointee.inflation
        base = inflation
    }

    /// Whether table and slab stay where they are, because hits go on; the shard is locked. What the lock's words say,
    /// before which this structure lies.
    @inlinable
    @inline(always)
    var keepsTable: Bool {
        mutating get {
            CacheEngine<Key, Value>.readsWithoutLock
                && withUnsafeMutablePointer(to: &self) { ShardLock(guarding: UnsafeMutableRawPointer($0)).isInserting }
        }
    }

    /// Whether the table is to be small rather than fast: where memory is scarce, and a table of twice the size would
    /// take more than a 32nd of what the entries do, 8 bytes of 256 each. The credit is not looked at before the table
    /// would be doubled.
    ///
    /// Of values of 50 bytes in 256 MiB tables that were doubled took 16 MiB of 185.
    @inlinable
    @inline(always)
    var sparesTable: Bool {
        storage.isAboutToGrow && credit.isScarce && credit.leastCharge <= 256 && storage.costs == nil
    }

    /// How many shards stand in the directory that this one stands in.
    @inlinable
    @inline(always)
    var siblingCount: Int { 1 &<< siblingBits }

    /// The logarithm of ``siblingCount``.
    @inlinable
    @inline(always)
    var siblingBits: Int { Int(bitPattern: directory & 63) }

    // MARK: Order

    /// Puts `slot`, whose density, level and flags are set, at the end of the queue of the stay that it buys now.
    @inlinable
    mutating func enqueue(_ slot: UInt32) {
        let view = storage.view
        let meta = view[slot]
        let info = meta.pointee.info
        var stay = StayCode(1)
        if info.has(EntryInfo.exact) {
            meta.pointee.info.stay = stay
            noteMove()
            let height = heightOfMove(at: inflation)
            meta.pointee.info.digits = height.digits
            meta.pointee.height = height.coarse
            return order.append(slot, in: view)
        }
        stay = StayCode(stayBought(by: info))
        meta.pointee.info.stay = stay
        var risen = Float(inflation - base)
        if risen > 0x1p14 * stay.length, isRebasingDue {
            rebase(by: risen.nextDown)
            risen = Float(inflation - base)
        }
        meta.pointee.height = risen + stay.length
        order.append(slot, in: view)
    }

    /// How long an entry of `info` may stay, in units of L.
    @inlinable
    @inline(always)
    mutating func stayBought(by info: EntryInfo) -> Float {
        let weight = weights.weight(level: info.has(EntryInfo.firstStay) ? 0 : info.level)
        return weights.stay(weight: weight, density: info.density)
    }

    /// A use of the entry at `slot`, whose flags are `info` and whose key has `hash`.
    ///
    /// Entries in order of use move to the end, but for the one that was moved last of all.
    @inlinable
    @inline(always)
    mutating func noteUse(of slot: UInt32, _ info: EntryInfo, _ hash: UInt64) {
        if info.has(EntryInfo.exact) {
            if published == nil || isFew || !wasMovedLast(slot) { moveToEnd(slot) }
        } else if !info.has(EntryInfo.touched) {
            storage.view[slot].pointee.info.bits = info.bits | EntryInfo.touched
            if SampledUses.includes(hash) { noteTouch(info, hash) }
        }
    }

    /// The height of the least head that may go for `cause`, absolute; infinite where there is none, and never less
    /// than 0.
    ///
    /// An entry that costs nothing stays where it is while L rises above it by victims of the cost limit. Each rebasing
    /// rounds how far below the base it is by then, and the last digits of that may be more than all it was above 0.
    ///
    /// Mutating, as ``publish()`` is, so that it works in place: what only reads a structure that cannot be copied may
    /// yet be given a copy, of five hundred bytes.
    @inlinable
    mutating func leastHeight(for cause: RemovalCause) -> Double {
        max(0, base + (isByUse ? leastByUse(for: cause).height : Double(order.leastHeight(for: cause))))
    }

    /// The same of those that cost nothing.
    @inlinable
    mutating func leastCostlessHeight() -> Double {
        max(0, base + (isByUse ? fineHeight(of: order.costless.least) : Double(order.costless.leastHeight)))
    }

    /// The entry to go next for `cause`, having given those at the heads that have been used another stay: at most 32
    /// of them, so that no insertion takes long. Raises L to what those bought before. 0 where nothing can go.
    @inlinable
    mutating func selectVictim(for cause: RemovalCause) -> UInt32 {
        var kept = 0
        while true {
            let slot = isByUse ? leastByUse(for: cause).slot : order.least(for: cause)
            if slot == 0 { return 0 }
            let meta = storage.view[slot]
            if !meta.pointee.info.has(EntryInfo.touched) || kept == 32 { return slot }
            kept += 1
            raiseInflation(to: base + Double(meta.pointee.height))
            order.unlink(slot, in: storage.view)
            var info = meta.pointee.info
            info.bits &= ~(EntryInfo.touched | EntryInfo.firstStay)
            info.level = min(15, info.level + 1)
            meta.pointee.info = info
            enqueue(slot)
        }
    }

    /// Tells the other shards of L, and learns what they have told.
    @inlinable
    mutating func shareInflation() {
        policy.pointee.raiseInflation(to: inflation)
        inflation = max(inflation, policy.pointee.inflation)
    }

    /// Raises L to `height` where it is lower.
    @inlinable
    @inline(always)
    mutating func raiseInflation(to height: Double) { if height > inflation { inflation = height } }

    /// Takes a victim out, raises L to its height, and remembers it as a ghost, and what one more stay of it would have
    /// spent.
    @inlinable
    mutating func evict(_ slot: UInt32, residents: Int, cause: RemovalCause) -> Entry<Key, Value> {
        let hash = storage.hash(of: slot)
        let info = storage.view[slot].pointee.info
        // Where moves raise L, victims do not: a leap would look like entries that are not there.
        if info.has(EntryInfo.exact) { return remove(slot, hash: hash, cause: cause) }
        raiseInflation(to: base + Double(storage.view[slot].pointee.height))
        // Where its word and its ghost lie comes from memory while it leaves its queue.
        prefetch(storage.home(hash))
        ghosts.prefetch(hash)
        let count = storage.count
        let length = info.stay.length
        let kind = PolicyWeights.classOf(info)
        let spent = spending(info, for: length)
        let deviation = info.density.octaves - weights.meanDensity
        evidence.expenses[kind] += spent
        evidence.stays += length
        evidence.expenseDensity += spent * deviation
        evidence.expenseSquares += spent * deviation * deviation
        evidence.evictions &+= 1
        let entry = remove(slot, hash: hash, cause: cause)
        ghosts.put(
            hash,
            class: kind,
            inflation: inflation,
            stay: Double(length),
            residents: count
        )
        if evidence.evictions >= (published == nil ? 16 : 32) { settleEvidence(residents: residents) }
        return entry
    }

    /// What a stay of `length` spends where the entry's flags are `info`: 2⁶⁴ at most, so that sums and second moments
    /// of the evidence remain numbers where mean and entry are as far apart as densities tell.
    @inlinable
    @inline(__always)
    func spending(_ info: EntryInfo, for length: Float) -> Float {
        let meanAge = Float(ghosts.meanAge)
        let stay = min(length, meanAge > 0 ? meanAge : length)
        return info.density == .one ? stay : min(stay * FastLogarithm.exp2(-info.density.octaves), 0x1p64)
    }

    /// Hands the evidence to the learner, and takes care that heights stay exact: a `Float` is good for 2²⁴ steps, of
    /// which 2¹⁰ are kept for a mean stay.
    ///
    /// What a mean stay is, the victims say, too: L leaps when an entry of great worth goes, and the ghosts know of no
    /// smaller ages while stays are lost beside it. That takes a sixteenth of the entries at least, because a rebasing
    /// looks at all.
    @inlinable
    @inline(never)
    mutating func settleEvidence(residents: Int) {
        shareInflation()
        var scale = ghosts.meanAge > 0 ? ghosts.meanAge : .infinity
        if evidence.evictions > 0 { scale = min(scale, Double(evidence.stays) / Double(evidence.evictions)) }
        victimsSinceRebasing &+= UInt32(truncatingIfNeeded: evidence.evictions)
        handIn(residents: residents)
        let risen = inflation - base
        if risen > 16384 * scale, victimsSinceRebasing > storage.held / 16 { rebase(by: Float(risen).nextDown) }
    }

    /// Whether so many victims have gone that a rebasing, which looks at all entries, adds little to what they cost. One
    /// is needed where a stay would be rounded: beside heights of 10¹¹, the stays that 1 and 1,000 buy were one.
    @inlinable
    @inline(never)
    var isRebasingDue: Bool {
        mutating get { victimsSinceRebasing &+ UInt32(truncatingIfNeeded: evidence.evictions) > storage.held / 16 }
    }

    /// Counts heights from a base that is higher by `delta`, which is no more than L is above the present one.
    @inlinable
    @inline(never)
    mutating func rebase(by delta: Float) {
        let view = storage.view
        if isByUse {
            storage.forEachSlot {
                let height = FineHeight(FineHeight(of: view[$0].pointee).value - Double(delta))
                view[$0].pointee.height = height.coarse
                view[$0].pointee.info.digits = height.digits
            }
            order.noteHeads(in: view)
        } else {
            storage.forEachSlot { view[$0].pointee.height -= delta }
            order.lower(by: delta)
        }
        base += Double(delta)
        victimsSinceRebasing = 0
    }

    /// Says to the other shards how cheap the cheapest entry here is.
    @inlinable
    mutating func publish() {
        guard let published else { return }
        let all = leastHeight(for: .memoryPressure).bitPattern
        let costly = leastHeight(for: .costLimit).bitPattern
        let ofAll = published + Self.publishedPlace(of: 0, for: .memoryPressure)
        let ofCostly = published + Self.publishedPlace(of: 0, for: .costLimit)
        if ofAll.pointee.load(ordering: .relaxed) != all { ofAll.pointee.store(all, ordering: .relaxed) }
        if ofCostly.pointee.load(ordering: .relaxed) != costly { ofCostly.pointee.store(costly, ordering: .relaxed) }
        if isByUse { publishMarks(published) }
    }

    /// Where shard `index` publishes the height of its least head that may go for `cause`, counted from the first
    /// shard's.
    @inlinable
    @inline(always)
    static func publishedPlace(of index: Int, for cause: RemovalCause) -> Int {
        index &* 2 &+ (cause == .costLimit ? 1 : 0)
    }
}
