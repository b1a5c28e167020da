//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a cache's least entry is worth, by the cache's own measures.
@usableFromInline
package struct SellingPoint: Sendable {
    /// How the cache's entries age.
    @usableFromInline
    package enum Aging: Sendable {
        /// Not at all: the least entry is always worth its height, so the cache sells first once the clock has risen.
        /// Purgeable bytes are like that: for sale is what the kernel should have been able to take.
        case none
        /// As inflation rises: an entry is worth what its height is above it.
        case byWorth(inflation: Double)
        /// As others are used: the least entry was last used when the cache's count of uses stood there.
        case byUse(oldest: Double)
    }

    /// What the next byte's entry is worth where it does not age; infinite when there is none.
    @usableFromInline package var height: Double
    /// Bytes (as the cache counts them) for which that is the price.
    @usableFromInline package var bytes: Double
    /// What an entry of average size is worth that has not been used since it came in, for each of its bytes.
    @usableFromInline package var worth: Double
    @usableFromInline package var aging: Aging

    @usableFromInline
    package init(height: Double, bytes: Double = 1, worth: Double = 0, aging: Aging = .none) {
        self.height = height
        self.bytes = bytes
        self.worth = worth
        self.aging = aging
    }
}

/// Where a cache stands by the clock that all caches of a governor share: GreedyDual's L, the highest price at which a
/// byte of real memory was sold.
///
/// A cache's own inflation is no such clock. It rises also when the cache evicts for its own limits, and by the piece,
/// so that a new estimate of an entry's size would move all its entries by generations. The count of uses, by which
/// recency is ordered, rises with each use, of however many entries. So an entry's price is
/// what it was worth when it came in or was last used, beyond the clock of that time:
/// - In a cache ordered by worth that is the clock now, and what its height is above the cache's inflation. The
///   inflation is raised as the clock proceeds.
/// - In one ordered by use it is the clock when the entry was last used, which ``uses`` remembers, and the worth of one
///   unused entry of average size: nobody says what its entries cost, as nobody does by default in the others.
struct SellingPosition: Sendable {
    /// The clock at which ``inflation`` stands; below 0 before the first price.
    private var clock = -1.0
    private var inflation = 0.0
    private var bytes = 1.0
    /// At which count of uses the clock was read, oldest first.
    private(set) var uses: [(count: Double, clock: Double)] = []
    /// The clock is read so often while it rises by what one entry is worth.
    private static let stepsPerWorth = 8.0
    private static let mostUses = 32
    /// By how much the count of uses is raised when the clock is read: by more than what threads that move entries at
    /// once may undo.
    private static let usesBetweenNotes = 1024.0

    /// The price of the next byte of real memory, where the clock stands at `now`.
    mutating func price(of point: SellingPoint, bytesPerCost: Double, now: Double) -> Double {
        let bytes = point.bytes * bytesPerCost
        let price = point.height / bytes
        switch point.aging {
        case .none: return price
        case .byWorth(let inflation):
            // Inflation that no sale explains is the cache's own.
            clock = clock < 0 ? now : min(now, proceeded(to: inflation))
            self.inflation = max(self.inflation, inflation)
            self.bytes = bytes
            return clock + (point.height - self.inflation) / bytes
        case .byUse(let oldest):
            if uses.isEmpty { uses.append((-.infinity, now)) }
            while uses.count > 1, uses[1].count <= oldest { uses.removeFirst() }
            return uses[0].clock + price
        }
    }

    /// The height up to which the cache sells below `price`; infinite where it is not ordered by height.
    func height(at price: Double, of point: SellingPoint, bytesPerCost: Double) -> Double {
        switch point.aging {
        case .none: price * point.bytes * bytesPerCost
        case .byWorth: inflation + (price - clock) * bytes
        case .byUse: .infinity
        }
    }

    /// The clock after a sale at `price`, which left the cache at `point`.
    func sold(at price: Double, _ point: SellingPoint) -> Double {
        switch point.aging {
        case .none: 0
        case .byWorth(let inflation): max(price, proceeded(to: inflation))
        case .byUse: price
        }
    }

    private func proceeded(to inflation: Double) -> Double { clock + max(0, inflation - self.inflation) / bytes }

    /// By how much the cache has to raise its inflation or its count of uses, so that what comes in now comes in at
    /// `now`; nil while it is near enough.
    mutating func catchUp(_ point: SellingPoint, bytesPerCost: Double, now: Double) -> Double? {
        let step = point.worth / bytesPerCost / Self.stepsPerWorth
        switch point.aging {
        case .none: return nil
        case .byWorth:
            guard clock >= 0, now - clock > step else { return nil }
            let rise = (now - clock) * bytes
            clock = now
            inflation += rise
            return rise
        case .byUse:
            guard let last = uses.last, now - last.clock > step else { return nil }
            return Self.usesBetweenNotes
        }
    }

    /// Remembers that the clock stood at `now` when the count of uses was `count`.
    mutating func note(uses count: Double, now: Double) {
        guard let last = uses.last, count > last.count, now > last.clock else { return }
        if uses.count == Self.mostUses {
            uses = uses.indices.filter { $0 % 2 == 0 }.map { uses[$0] }
        }
        uses.append((count, now))
    }
}
