//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// When the allocator may be asked to return its free memory.
///
/// A trim walks every free chunk of every arena and holds the arenas' locks meanwhile: 13 to 92 ms with 400 MiB of
/// values. So trims take a tenth of the time at most, at least 100 ms lie between two, and one that brought less than a
/// tenth of what was thought to be free doubles the distance, up to 3.2 s. At the brink only 5 ms are kept; for little
/// trims take a hundredth of the time at most.
///
/// Where a sixteenth of the limit lies free, one that brought little is repeated as soon as others: what shares its
/// pages today need not a second later. Where so much has come to lie free since the last one, they may take a third of
/// the time. (Beside a busy machine two threads that inserted values of 50 bytes evicted half of a cache to leave holes,
/// for four seconds, until the next trim returned 50 MiB in 27 ms.)
struct TrimPacing: Sendable {
    private static let least: UInt64 = 100_000_000
    private static let most: UInt64 = 3_200_000_000
    private static let atBrink: UInt64 = 5_000_000

    /// The distance after trims that brought little, however short they were.
    private var afterLittle = least
    private var lastEnd: UInt64?
    private var lastDuration: UInt64 = 0
    /// What was thought to be free after the last one.
    private var left = 0

    /// Whether a trim may begin at `now` (monotonic nanoseconds), where `holes` bytes are thought to be free.
    func allows(at now: UInt64, isUrgent: Bool, holes: Int, limit: Int) -> Bool {
        guard let lastEnd else { return true }
        return now &- lastEnd >= (isUrgent ? Self.atBrink : distance(holes, limit))
    }

    /// Whether a trim for little may begin: where trims take a hundredth of the time at most.
    func allowsForLittle(at now: UInt64) -> Bool {
        guard let lastEnd else { return true }
        return now &- lastEnd >= max(afterLittle, 100 * lastDuration)
    }

    /// Nanoseconds until the next one may begin without urgency.
    func remaining(at now: UInt64, holes: Int, limit: Int) -> UInt64 {
        guard let lastEnd else { return 0 }
        let (gone, distance) = (now &- lastEnd, distance(holes, limit))
        return gone < distance ? distance - gone : 0
    }

    /// Takes note of a trim that took `nanoseconds`, ended at `end` and brought `bytes` of the `expected`.
    mutating func finished(at end: UInt64, nanoseconds: UInt64, bytes: Int, expected: Int) {
        (lastEnd, lastDuration, left) = (end, min(nanoseconds, Self.most), max(0, expected - bytes))
        afterLittle =
            bytes < expected / 10 ? min(max(afterLittle * 2, lastDuration * 10), Self.most) : Self.least
    }

    /// Nanoseconds between two trims without urgency.
    private func distance(_ holes: Int, _ limit: Int) -> UInt64 {
        let much = limit / 16
        let share: UInt64 = holes - left >= much ? 2 : 10
        let distance = min(max(Self.least, lastDuration * share), Self.most)
        return holes >= much ? distance : max(distance, afterLittle)
    }
}
