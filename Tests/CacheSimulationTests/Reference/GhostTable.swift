//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

@testable import CacheSimulation

/// What the policy remembers of evicted entries: about one a resident, in sets of eight, each a fingerprint of 16 bits,
/// the class and L at eviction.
struct GhostTable {
    private static let ways = 8

    struct Ghost {
        var fingerprint: UInt16 = 0
        var kind = 0
        var inflation = 0.0
        /// Only to move it when the table changes its size.
        var hash: UInt64 = 0
    }

    private var slots: [Ghost?] = .init(repeating: nil, count: GhostTable.ways)
    private var sets: Int { slots.count / Self.ways }
    /// How much L rises, on average, until a ghost is overwritten.
    private(set) var meanAge = 0.0

    /// Keeps between 0.7 and 1.3 slots a resident.
    mutating func resize(residents: Int) {
        let wanted = max(1, (residents + Self.ways / 2) / Self.ways)
        let slotsPerResident = Double(slots.count) / Double(max(1, residents))
        guard wanted != sets, slotsPerResident < 0.7 || slotsPerResident > 1.3 else { return }
        let old = slots.compactMap(\.self)
        slots = .init(repeating: nil, count: wanted * Self.ways)
        for ghost in old.sorted(by: { $0.inflation < $1.inflation }) { slots[slot(for: ghost.hash)] = ghost }
    }

    /// Takes the ghost of a key out.
    mutating func take(_ hash: UInt64) -> Ghost? {
        let fingerprint = UInt16(truncatingIfNeeded: hash)
        for index in range(hash) {
            if let ghost = slots[index], ghost.fingerprint == fingerprint {
                slots[index] = nil
                return ghost
            }
        }
        return nil
    }

    /// Remembers a key, in a free slot of its set or in place of the oldest.
    mutating func put(_ hash: UInt64, kind: Int, inflation: Double) {
        let index = slot(for: hash)
        if let old = slots[index] { meanAge += 0.02 * ((inflation - old.inflation) - meanAge) }
        let fingerprint = UInt16(truncatingIfNeeded: hash)
        slots[index] = Ghost(fingerprint: fingerprint, kind: kind, inflation: inflation, hash: hash)
    }

    private func slot(for hash: UInt64) -> Int {
        var oldest = range(hash).lowerBound
        for index in range(hash) {
            guard let ghost = slots[index] else { return index }
            if ghost.inflation < slots[oldest]?.inflation ?? -1 { oldest = index }
        }
        return oldest
    }

    private func range(_ hash: UInt64) -> Range<Int> {
        let set = Int(hash.multipliedFullWidth(by: UInt64(sets)).high) * Self.ways
        return set..<set + Self.ways
    }
}
