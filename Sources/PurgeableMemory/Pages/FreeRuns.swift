//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Which runs of units are free: a two-level segregated fit over numbers alone.
///
/// Units are numbered `slot << unitBits | unit`; a slot is one mapping. The structure knows neither addresses nor
/// system calls, so that it can be tested to exhaustion.
///
/// Free runs hang in bins by length, exactly up to 63 units and by quarter powers of two above. A bitmap of
/// nonempty bins makes taking O(1); tags at the first and last unit of every free run make merging O(1).
///
/// - SeeAlso: Masmano, Ripoll, Crespo, Real, "TLSF: A New Dynamic Memory Allocator for Real-Time Systems" (ECRTS 2004).
struct FreeRuns: ~Copyable {
    /// A slot holds at most `1 << unitBits` units: 64 MiB of 4 KiB pages.
    static let unitBits: UInt32 = 14
    static var unitsPerSlot: Int { 1 << Int(unitBits) }

    private static let none = UInt32.max
    private static let exactBins = 64
    private static let binCount = exactBins + (Int(unitBits) - 6 + 1) * 4

    /// Tags and links of one slot. Cells are written at the ends of runs only, so that memory behind the middle of
    /// long runs is never touched.
    private struct Slot {
        let unitCount: Int
        var freeCount: Int
        /// Length of the free run that begins or ends here; 0 in the first and last unit of a run in use.
        let tags: UnsafeMutablePointer<UInt32>
        let next: UnsafeMutablePointer<UInt32>
        let previous: UnsafeMutablePointer<UInt32>
    }

    private var slots: [Slot?] = []
    private var heads: [UInt32]
    private var nonempty: (UInt64, UInt64) = (0, 0)

    init() { heads = Array(repeating: Self.none, count: Self.binCount) }

    deinit {
        for slot in slots {
            if let slot { Self.release(slot) }
        }
    }

    /// The slot of a unit.
    static func slot(of unit: UInt32) -> Int { Int(unit >> unitBits) }

    /// The place of a unit within its slot.
    static func offset(of unit: UInt32) -> Int { Int(unit) & (unitsPerSlot - 1) }

    /// Adds a slot of `unitCount` free units and answers its number.
    mutating func addSlot(unitCount: Int) -> Int {
        precondition(unitCount > 0 && unitCount <= Self.unitsPerSlot)
        let number = slots.firstIndex { $0 == nil } ?? slots.count
        if number == slots.count { slots.append(nil) }
        slots[number] = Slot(
            unitCount: unitCount,
            freeCount: unitCount,
            tags: .allocate(capacity: unitCount),
            next: .allocate(capacity: unitCount),
            previous: .allocate(capacity: unitCount)
        )
        link(UInt32(number) << Self.unitBits, length: unitCount)
        return number
    }

    /// Removes a slot whose units are all free.
    mutating func removeSlot(_ number: Int) {
        let slot = slots[number]!
        let first = UInt32(number) << Self.unitBits
        precondition(slot.freeCount == slot.unitCount, "a slot in use cannot be removed")
        unlink(first, length: slot.unitCount)
        Self.release(slot)
        slots[number] = nil
    }

    /// Units of the slot that are free.
    func freeUnits(ofSlot number: Int) -> Int { slots[number]!.freeCount }

    /// Takes a run of `count` units, or answers nil if no bin promises one. O(1).
    mutating func take(_ count: Int) -> UInt32? {
        guard let first = candidate(for: count) else { return nil }
        let slot = slots[Self.slot(of: first)]!
        let offset = Self.offset(of: first)
        let length = Int(slot.tags[offset])
        unlink(first, length: length)
        slot.tags[offset] = 0
        slot.tags[offset + count - 1] = 0
        if length > count { link(first + UInt32(count), length: length - count) }
        slots[Self.slot(of: first)]!.freeCount -= count
        return first
    }

    /// Gives a run back and merges it with its free neighbours. O(1).
    mutating func give(_ first: UInt32, count: Int) {
        let number = Self.slot(of: first)
        let slot = slots[number]!
        var begin = Self.offset(of: first)
        var end = begin + count
        slots[number]!.freeCount += count
        if begin > 0, slot.tags[begin - 1] != 0 {
            let length = Int(slot.tags[begin - 1])
            begin -= length
            unlink(UInt32(number) << Self.unitBits + UInt32(begin), length: length)
        }
        if end < slot.unitCount, slot.tags[end] != 0 {
            let length = Int(slot.tags[end])
            unlink(UInt32(number) << Self.unitBits + UInt32(end), length: length)
            end += length
        }
        link(UInt32(number) << Self.unitBits + UInt32(begin), length: end - begin)
    }

    // MARK: Bins

    /// The bin that holds free runs of `length`.
    private static func bin(of length: Int) -> Int {
        if length < exactBins { return length }
        let log = Int.bitWidth - 1 - length.leadingZeroBitCount
        return exactBins + (log - 6) * 4 + (length >> (log - 2)) & 3
    }

    /// The first bin all of whose runs have at least `length` units.
    private static func binThatFits(_ length: Int) -> Int {
        if length < exactBins { return length }
        let log = Int.bitWidth - 1 - length.leadingZeroBitCount
        return bin(of: length + (1 << (log - 2)) - 1)
    }

    /// The first run of the nearest bin that promises enough, else the first of the bin that may have enough: the
    /// latter finds a slot that was just added for this very run.
    private func candidate(for count: Int) -> UInt32? {
        guard count <= Self.unitsPerSlot else { return nil }
        if let bin = firstNonempty(from: Self.binThatFits(count)) { return heads[bin] }
        let head = heads[Self.bin(of: count)]
        guard head != Self.none else { return nil }
        return Int(slots[Self.slot(of: head)]!.tags[Self.offset(of: head)]) >= count ? head : nil
    }

    private func firstNonempty(from bin: Int) -> Int? {
        if bin < 64 {
            let low = nonempty.0 & (~0 << UInt64(bin))
            if low != 0 { return low.trailingZeroBitCount }
        }
        let high = nonempty.1 & (~0 << UInt64(max(bin, 64) - 64))
        return bin < Self.binCount && high != 0 ? 64 + high.trailingZeroBitCount : nil
    }

    private mutating func link(_ first: UInt32, length: Int) {
        let slot = slots[Self.slot(of: first)]!
        let offset = Self.offset(of: first)
        slot.tags[offset] = UInt32(length)
        slot.tags[offset + length - 1] = UInt32(length)
        let bin = Self.bin(of: length)
        let head = heads[bin]
        slot.next[offset] = head
        slot.previous[offset] = Self.none
        if head != Self.none { slots[Self.slot(of: head)]!.previous[Self.offset(of: head)] = first }
        heads[bin] = first
        if bin < 64 { nonempty.0 |= 1 << UInt64(bin) } else { nonempty.1 |= 1 << UInt64(bin - 64) }
    }

    private mutating func unlink(_ first: UInt32, length: Int) {
        let slot = slots[Self.slot(of: first)]!
        let offset = Self.offset(of: first)
        let (next, previous) = (slot.next[offset], slot.previous[offset])
        if next != Self.none { slots[Self.slot(of: next)]!.previous[Self.offset(of: next)] = previous }
        if previous != Self.none {
            slots[Self.slot(of: previous)]!.next[Self.offset(of: previous)] = next
            return
        }
        let bin = Self.bin(of: length)
        heads[bin] = next
        if next == Self.none {
            if bin < 64 { nonempty.0 &= ~(1 << UInt64(bin)) } else { nonempty.1 &= ~(1 << UInt64(bin - 64)) }
        }
    }

    private static func release(_ slot: Slot) {
        slot.tags.deallocate()
        slot.next.deallocate()
        slot.previous.deallocate()
    }
}
