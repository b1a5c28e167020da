//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims

/// Fingerprints of entries that have been evicted, with the class they had and when they went: what would have been a
/// hit if they had been kept longer.
///
/// Sets of eight ghosts of 32 bits: fingerprint 16, class 2, time of eviction 14; 0 is none. A newcomer overwrites the
/// oldest of its set, so there is no list, and a ghost costs four bytes. There is about one ghost for each resident
/// (0.7 to 1.4): twice as many buy half a point of misses, fingerprints of 8 bits lose more.
///
/// Time is the cache's inflation L in steps of a unit, a power of two that follows the ghosts' mean age at their
/// end, modulo 2¹⁴: at least 128 steps in that, and a ghost would have to get 8 times as old to look young again.
@usableFromInline
struct GhostTable {
    @usableFromInline var ghosts: UnsafeMutablePointer<UInt32>?
    /// Sets − 1, a power of two less one.
    @usableFromInline var setMask: UInt32 = 0
    /// Ghosts used in each set: fewer than 8 only where there are fewer residents.
    @usableFromInline var ways: Int32 = 0
    /// Inflation per step of time.
    @usableFromInline var unit: Double = 0
    /// Mean L between a ghost's eviction and its end, G of the policy; 0 while unknown.
    @usableFromInline var meanAge: Double = 0
    /// Ghosts to be remembered yet before the stamps may be rewritten again: a rewriting is paid by as many insertions
    /// as an eighth of the table has places, however fast L stands still or runs.
    @usableFromInline var rescaleDelay: Int32 = 0

    @inlinable
    init() {}

    @usableFromInline static var stampMask: UInt32 { 0x3FFF }

    /// Ghosts at most.
    @usableFromInline
    var capacity: Int { ghosts == nil ? 0 : sets * Int(ways) }

    @usableFromInline var sets: Int { Int(setMask) + 1 }

    /// Where the set of a spread hash begins: as it is, keys at a bad distance would share few sets.
    @inlinable
    @inline(__always)
    func place(of spread: UInt64) -> Int { Int((spread &>> 16) & UInt64(setMask)) &* 8 }

    /// The time in steps, modulo 2¹⁴. The governor may raise L far beyond what this cache ever saw (the price of
    /// another one's bytes); where steps are then smaller than a `Double` can tell, all stamps are alike until the
    /// table grows anew.
    @inlinable
    func stamp(_ inflation: Double) -> UInt32 {
        let steps = inflation / unit
        return steps < 0x1p62 ? UInt32(truncatingIfNeeded: Int64(steps)) & Self.stampMask : 0
    }

    @inlinable
    @inline(__always)
    static func fingerprint(_ spread: UInt64) -> UInt32 {
        let bits = UInt32(truncatingIfNeeded: spread) & 0xFFFF
        return bits == 0 ? 1 : bits
    }

    /// Asks for the line where the ghost of `hash` would be.
    @inlinable
    @inline(__always)
    func prefetch(_ hash: UInt64) {
        if let ghosts { MemoryCaching.prefetch(ghosts + place(of: HashSeed.spread(hash))) }
    }

    /// Takes the ghost of `hash` out: its class, and how much L has grown since it was evicted.
    @inlinable
    mutating func take(_ hash: UInt64, inflation: Double) -> (class: Int, age: Double)? {
        guard let ghosts else { return nil }
        let spread = HashSeed.spread(hash)
        let set = ghosts + place(of: spread)
        let fingerprint = Self.fingerprint(spread)
        let way = Int(cms_ghost_find(set, fingerprint))
        if way == 8 { return nil }
        let ghost = set[way]
        set[way] = 0
        let steps = (stamp(inflation) &- (ghost &>> 18)) & Self.stampMask
        return (Int(ghost &>> 16 & 3), Double(steps) * unit)
    }

    /// Remembers an entry of `class` that has just been evicted after a stay of `stay`. Inlined into its one caller,
    /// which has made the same spread hash before.
    @inlinable
    @inline(__always)
    mutating func put(_ hash: UInt64, class: Int, inflation: Double, stay: Double, residents: Int) {
        if ghosts == nil || 10 &* capacity < 7 &* residents || Int(ways) < Swift.min(8, residents) {
            grow(residents: residents, stay: stay, inflation: inflation)
        }
        let spread = HashSeed.spread(hash)
        let set = ghosts.unsafelyUnwrapped + place(of: spread)
        let now = stamp(inflation)
        // Nothing is older than an empty place, and no branch has to be foreseen.
        var oldest = cms_ghost_oldest(set, now, ways)
        let victim = Int(oldest & 7)
        oldest &>>= 3
        set[victim] = Self.fingerprint(spread) | UInt32(truncatingIfNeeded: `class`) &<< 16 | now &<< 18
        guard oldest <= Self.stampMask else { return }
        // An exponential mean over 50 overwritten ghosts.
        meanAge += 0.02 * (Double(oldest) * unit - meanAge)
        rescaleDelay &-= 1
        // Where one step is more than all ages, nobody knows them, and they are expected as at the beginning.
        let expected = meanAge < unit ? Self.firstAge(stay) : meanAge
        if rescaleDelay <= 0, expected > 2048 * unit || expected < 128 * unit {
            rescale(inflation: inflation, meanAge: expected)
        }
    }

    /// Makes room for `residents`: doubles the sets, each ghost standing in both halves until one is overwritten.
    @usableFromInline
    mutating func grow(residents: Int, stay: Double, inflation: Double) {
        if unit == 0 { unit = Self.powerOfTwo(notAbove: Self.firstAge(stay) / 512) }
        ways = Swift.max(ways, Int32(Swift.min(8, Swift.max(1, residents))))
        let oldSets = ghosts == nil ? 0 : self.sets
        var sets = Swift.max(1, oldSets)
        while 10 * sets * Int(ways) < 7 * residents { sets *= 2 }
        guard sets > oldSets else { return }
        let byteCount = sets * 32
        let memory = AlignedMemory.allocate(byteCount)
        let grown = memory.bindMemory(to: UInt32.self, capacity: sets * 8)
        if let ghosts {
            for set in 0..<sets { (grown + set * 8).update(from: ghosts + (set & (oldSets - 1)) * 8, count: 8) }
        } else {
            grown.initialize(repeating: 0, count: sets * 8)
        }
        deallocate()
        ghosts = grown
        setMask = UInt32(sets - 1)
    }

    /// What each of so many heirs remembers, among whom the residents are divided at L `inflation`: the youngest, in as
    /// many places as its share, and the same as the others, because nobody knows whose a ghost is.
    ///
    /// Of more than four heirs each begins with none. Nearly all ghosts would be others', and small caches of disk
    /// blocks missed .7450 instead of .7437 (s_arc_p3, 5 %). Those that are divided a second time while they evict
    /// missed .3222 where heirs remembered nothing, and miss .3203 (s_arc_p12, 10 %; means of twelve, two processors).
    @usableFromInline
    func inherited(byEachOf heirs: Int, inflation: Double) -> GhostTable {
        if heirs <= 4 { return youngest(inSets: Swift.max(1, sets / heirs), inflation: inflation) }
        var none = GhostTable()
        (none.unit, none.meanAge) = (unit, meanAge)
        return none
    }

    /// A table of its own, with all that this one remembers.
    @usableFromInline
    func copy() -> GhostTable { youngest(inSets: sets, inflation: 0) }

    /// A table of its own, of so many sets, with the youngest of the ghosts that belong into each: a power of two, and
    /// no more than there are.
    private func youngest(inSets count: Int, inflation: Double) -> GhostTable {
        var table = self
        guard let ghosts else { return table }
        let youngest = AlignedMemory.allocate(count * 32).bindMemory(to: UInt32.self, capacity: count * 8)
        youngest.initialize(from: ghosts, count: count * 8)
        (table.ghosts, table.setMask) = (youngest, UInt32(count - 1))
        let now = stamp(inflation)
        for index in count * 8..<sets * 8 where ghosts[index] != 0 {
            let set = youngest + (index / 8 & (count - 1)) * 8
            let oldest = cms_ghost_oldest(set, now, ways)
            let age = (now &- (ghosts[index] &>> 18)) & Self.stampMask
            if oldest >> 3 > age { set[Int(oldest & 7)] = ghosts[index] }
        }
        return table
    }

    /// Chooses a unit of about a 512th of `meanAge` and rewrites all stamps in it.
    @usableFromInline
    mutating func rescale(inflation: Double, meanAge: Double) {
        guard let ghosts else { return }
        rescaleDelay = Int32(capacity / 8)
        let newUnit = Self.powerOfTwo(notAbove: meanAge / 512)
        let now = stamp(inflation)
        let ratio = unit / newUnit
        unit = newUnit
        let newNow = stamp(inflation)
        for index in 0..<sets * 8 where ghosts[index] != 0 {
            let age = (now &- (ghosts[index] &>> 18)) & Self.stampMask
            // No number where both units are 0 or beyond all measure: then as old as can be.
            let scaled = Double(age) * ratio
            let newAge = scaled < Double(Self.stampMask) ? UInt32(scaled) : Self.stampMask
            ghosts[index] = ghosts[index] & 0x3_FFFF | (newNow &- newAge) &<< 18
        }
    }

    /// The mean age that is expected where none is known, after a stay of `stay`.
    @usableFromInline
    static func firstAge(_ stay: Double) -> Double { 8 * Swift.max(stay, 0x1p-100) }

    private static func powerOfTwo(notAbove value: Double) -> Double {
        Double(sign: .plus, exponent: value.exponent, significand: 1)
    }

    /// Frees the table.
    @usableFromInline
    func deallocate() {
        if let ghosts { AlignedMemory.deallocate(UnsafeMutableRawPointer(ghosts), sets * 32) }
    }
}
