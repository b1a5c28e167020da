//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A cache as the process-wide pressure governor sees it: something that can name the price of its least byte and let
/// go of bytes, cheapest first.
///
/// Prices are worth (recompute cost × chance of reuse) per byte, counted from what the cache's own inflation is. The
/// governor makes them comparable (``SellingPosition``) and takes from whichever cache sells cheapest, until all of
/// them sell at one price.
///
/// How a cache joins: it keeps one ``PressureMembership``, and in each shard one ``InsertionCredit``. An insertion
/// spends from the shard's credit under the shard's lock; where that exhausts it, the inserting thread, after
/// unlocking, asks the membership for another and stores it in the shard. The first insertion finds a credit of nothing
/// and so registers the cache; an empty cache costs the governor nothing. A hit pays nothing.
///
/// An entry inserted without a cost counts as ``PressureMembership/bytesPerEntry`` wherever bytes are asked for here.
///
/// No method may be called while a lock of any cache is held; each may run removal handlers and deinitialisers of
/// values on the calling thread.
@usableFromInline
package protocol ReclaimableCache: AnyObject, Sendable {
    /// The price of a byte at the margin: the worth per byte of the entry that would go next; infinite when empty.
    var marginalPrice: Double { get }

    /// The same as the governor needs it to compare it with other caches' prices.
    var sellingPoint: SellingPoint { get }

    /// Bytes that the cache could give back, as far as it knows: given costs, or its estimate where none were given.
    var reclaimableBytes: Int { get }

    /// How many entries there are in memory of the allocator's that have no cost, where no entry has any, and the sum
    /// of the costs where some have; 0 and 0 where nothing can be said of the bytes that an entry takes.
    var holdings: (entries: Int, costs: Int) { get }

    /// Discards content that nobody accesses (counter 0); returns about how many bytes of ``holdings`` that freed.
    func discardUnusedContent() -> Int

    /// Lets the kernel have memory that it could not take before; returns how many bytes. They are there until it takes
    /// them, and are no part of ``holdings``: nobody may count them as given back.
    func offerToKernel() -> Int

    /// Evicts entries, least worth first, until about `bytes` are free or the next one's height, as in
    /// ``sellingPoint``, is above `height`; returns about how many bytes that freed.
    func evict(bytes: Int, below height: Double) -> Int

    /// Takes back the credit of every shard, so that each one's next insertion asks the governor again; returns the
    /// bytes that had been granted.
    ///
    /// Called when memory has become short: what was promised while there was room no longer holds.
    func revokeInsertionCredit() -> Int

    /// Raises this cache's inflation (GreedyDual's L), or its count of uses, by `step`, because bytes of other caches
    /// were sold: all caches of a process age by one clock. Returns where it stands then.
    @discardableResult
    func age(by step: Double) -> Double
}

extension ReclaimableCache {
    @usableFromInline
    package var holdings: (entries: Int, costs: Int) { (0, 0) }

    @usableFromInline
    package func discardUnusedContent() -> Int { 0 }

    @usableFromInline
    package func offerToKernel() -> Int { 0 }

    @usableFromInline
    package var sellingPoint: SellingPoint { SellingPoint(height: marginalPrice) }

    @usableFromInline
    package func age(by step: Double) -> Double { 0 }
}
