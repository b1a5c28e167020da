//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// When the allocator may be asked to return its free memory.
///
/// A trim walks every free chunk of every arena and holds the arenas' locks meanwhile: 13 to 92 ms with 400 MiB of
/// values. So trims take a tenth of the time at most, at least 100 ms lie between two, and one that brought less than a
/// tenth of what was thought to be free doubles the distance, up to 3.2 s. At the brink only 5 ms are kept.
struct TrimPacing: Sendable {
    private static let least: UInt64 = 100_000_000
    private static let most: UInt64 = 3_200_000_000
    private static let atBrink: UInt64 = 5_000_000

    private var distance = least
    private var lastEnd: UInt64?

    /// Whether a trim may begin at `now` (monotonic nanoseconds).
    func allows(at now: UInt64, isUrgent: Bool) -> Bool {
        guard let lastEnd else { return true }
        return now &- lastEnd >= (isUrgent ? Self.atBrink : distance)
    }

    /// Nanoseconds until the next one may begin without urgency.
    func remaining(at now: UInt64) -> UInt64 {
        guard let lastEnd else { return 0 }
        let gone = now &- lastEnd
        return gone < distance ? distance - gone : 0
    }

    /// Takes note of a trim that took `nanoseconds`, ended at `end` and brought `bytes` of the `expected`.
    mutating func finished(at end: UInt64, nanoseconds: UInt64, bytes: Int, expected: Int) {
        lastEnd = end
        let wasPoor = bytes < expected / 10
        distance = min(
            max(wasPoor ? distance * 2 : Self.least, min(nanoseconds, Self.most) * 10, Self.least),
            Self.most
        )
    }
}
