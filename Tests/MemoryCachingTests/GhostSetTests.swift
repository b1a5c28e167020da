//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CMemoryShims
import Testing
import _CacheTestSupport

/// The sets of ghosts, whose eight words are read at once, against the same done word by word.
@Suite("Engine: sets of ghosts")
struct GhostSetTests {
    /// The greatest of {age, place}, of which an empty place is the oldest.
    private static func oldest(of set: [UInt32], now: UInt32, ways: Int) -> UInt32 {
        var oldest: UInt32 = 0
        for (place, ghost) in set.prefix(ways).enumerated() {
            let age = ghost == 0 ? 0x4000 : (now &- (ghost >> 18)) & 0x3FFF
            oldest = max(oldest, age << 3 | UInt32(place))
        }
        return oldest
    }

    private static func check(_ set: [UInt32], now: UInt32, fingerprint: UInt32) -> Bool {
        let place = set.firstIndex { $0 & 0xFFFF == fingerprint } ?? 8
        guard Int(cms_ghost_find(set, fingerprint)) == place else { return false }
        return (0...8).allSatisfy { cms_ghost_oldest(set, now, Int32($0)) == oldest(of: set, now: now, ways: $0) }
    }

    /// All sets of places that are empty, or have one of two fingerprints.
    @Test func everyPattern() {
        let words: [UInt32] = [0, 1 | 5 << 18, 0xFFFF | 3 << 16 | 0x3FFF << 18]
        for pattern in 0..<6561 {
            var (set, rest) = ([UInt32](), pattern)
            for _ in 0..<8 {
                set.append(words[rest % 3])
                rest /= 3
            }
            for (now, fingerprint) in [(0, 1), (4, 0xFFFF), (5, 2), (0x3FFF, 0x8000)] as [(UInt32, UInt32)] {
                if !Self.check(set, now: now, fingerprint: fingerprint) { Issue.record("\(set) at \(now)") }
            }
        }
    }

    @Test func randomSets() {
        let number = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: number)
        for _ in 0..<20_000 {
            let mask: UInt32 = [.max, 0xFFFC_0007, 0x000C_FFFF].randomElement(using: &random)!
            let set = (0..<8).map { _ in
                Int.random(in: 0..<4, using: &random) == 0 ? 0 : UInt32(truncatingIfNeeded: random.next()) & mask
            }
            let now = UInt32.random(in: 0...0x3FFF, using: &random)
            let other = UInt32.random(in: 1...0xFFFF, using: &random)
            let fingerprint = max(1, set.randomElement(using: &random)! & 0xFFFF)
            let isRight = [other, fingerprint].allSatisfy { Self.check(set, now: now, fingerprint: $0) }
            if !isRight { Issue.record("\(set) at \(now), seed \(number)") }
        }
    }
}
