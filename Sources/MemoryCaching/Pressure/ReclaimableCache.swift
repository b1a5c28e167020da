//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A cache as the process-wide pressure governor sees it: something that can name the price of its least byte and let
/// go of bytes, cheapest first.
///
/// Prices are comparable between caches (recompute cost × chance of reuse per byte), so that the governor can take
/// from whichever cache sells cheapest until all of them sell at one price.
///
/// No method may be called while a lock of any cache is held; each may run removal handlers and deinitialisers of
/// values on the calling thread.
package protocol ReclaimableCache: AnyObject, Sendable {
    /// The price of a byte at the margin: the worth per byte of the entry that would go next; infinite when empty.
    var marginalPrice: Double { get }

    /// Bytes that the cache could give back, as far as it knows: given costs, or its estimate where none were given.
    var reclaimableBytes: Int { get }

    /// Discards content that nobody accesses (counter 0); returns about how many bytes that freed.
    func discardUnusedContent() -> Int

    /// Evicts entries, least worth first, until about `bytes` are free or the next one's price is above `price`;
    /// returns about how many bytes that freed.
    func evict(bytes: Int, below price: Double) -> Int
}
