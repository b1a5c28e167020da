//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Bytes that one shard of a cache may insert before it asks the governor again.
///
/// A plain value that lives in the shard's state, under the shard's lock. Each insertion is charged its cost in bytes,
/// but at least ``leastCharge``: what the governor has measured an insertion to take where costs are not given, or
/// where what is given as cost is no size in bytes.
@usableFromInline
package struct InsertionCredit: Sendable {
    /// Bytes left; the next insertion asks the governor when this is 0 or less.
    @usableFromInline package var remainingBytes: Int

    /// What an insertion is charged at least.
    @usableFromInline package var leastCharge: Int

    /// What the entries that have gone since were charged, but for those that went for the process.
    @usableFromInline package var released: Int

    /// Sum of the costs given with those insertions.
    @usableFromInline package var costs: Int

    /// Insertions charged so far. In half a word, so that all that an insertion changes here lies in one cache line.
    @usableFromInline package var insertions: UInt32

    /// Whether it was granted near the mark. Then every insertion looks at the clock: the next value may be ten
    /// thousand times as large as those that the credit was measured by, and sixteen of them more than there is.
    @usableFromInline package var isNearMark: Bool

    /// Whether memory was scarce when it was granted: usage beyond three quarters of the mark.
    @usableFromInline package var isScarce: Bool

    /// What was granted in the first place, and nothing once that is revoked.
    @usableFromInline package var grantedBytes: Int

    /// A credit of nothing: the first insertion asks.
    @inlinable package init() {
        self.init(grantedBytes: 0, leastCharge: 0)
    }

    /// A credit of `grantedBytes`.
    @inlinable package init(grantedBytes: Int, leastCharge: Int, isNearMark: Bool = false, isScarce: Bool = false) {
        self.grantedBytes = grantedBytes
        self.leastCharge = leastCharge
        self.isNearMark = isNearMark
        self.isScarce = isScarce
        remainingBytes = grantedBytes
        insertions = 0
        costs = 0
        released = 0
    }

    /// Charges one insertion of `cost` bytes (0 where none is given) and says whether the credit is exhausted.
    @inlinable package mutating func spend(_ cost: Int) -> Bool {
        insertions &+= 1
        costs &+= cost
        remainingBytes &-= Swift.max(cost, leastCharge)
        return remainingBytes <= 0
    }

    /// Takes note that an entry of `cost` bytes has gone: what it held is a hole in the heap, into which what is
    /// inserted may fall. A value that takes another's place is charged like any other, because its memory need not be
    /// where the old one's was. Where nothing was ever granted nobody asks, and nothing is written.
    @inlinable package mutating func release(_ cost: Int) {
        if leastCharge != 0 { released &+= Swift.max(cost, leastCharge) }
    }

    /// Charges `bytes` that tell nothing of the size of an entry, and says whether the credit is exhausted.
    package mutating func charge(_ bytes: Int) -> Bool {
        remainingBytes &-= bytes
        return remainingBytes <= 0
    }

    /// Takes back what is left: the next insertion asks, and what has been spent is still reported. Returns what had
    /// been granted.
    @inlinable package mutating func revoke() -> Int {
        defer { grantedBytes = 0 }
        remainingBytes &-= grantedBytes
        return grantedBytes
    }

    /// Hands out what is to be reported and leaves a credit of nothing, so that every insertion asks until ``add(_:)``.
    @inlinable package mutating func take() -> InsertionCredit {
        defer { self = InsertionCredit(grantedBytes: 0, leastCharge: leastCharge, isScarce: isScarce) }
        return self
    }

    /// Adds what the governor has granted to what is there: other threads may have asked for the same shard meanwhile,
    /// and a grant that was overwritten would count as unspent for ever.
    @inlinable package mutating func add(_ grant: InsertionCredit) {
        grantedBytes &+= grant.grantedBytes
        remainingBytes &+= grant.grantedBytes
        leastCharge = grant.leastCharge
        isNearMark = grant.isNearMark
        isScarce = grant.isScarce
    }
}
