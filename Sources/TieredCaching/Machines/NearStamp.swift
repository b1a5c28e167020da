//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Whether an entry of the near cache may be served is one comparison of two words, so that a hit pays for coherence
// with one atomic load.
//
// The high 24 bits are the generation, the low 40 a moment in milliseconds (34 years). An entry's stamp has the
// generation of the connection that read it and the moment until which it is fresh; the near cache's word has the
// generation that is current and the present moment. 24 bits of generations are a reconnection every second for half
// a year before one returns; an entry of that age has long expired.

/// When a near entry may be served: a generation, and the moment until which it is fresh.
@usableFromInline
package struct NearStamp: Sendable, Hashable {
    @usableFromInline package let bits: UInt64

    package init(generation: UInt64, freshUntil: Int64) {
        bits = generation << Self.momentBits | UInt64(min(max(freshUntil, 0), Self.lastMoment))
    }

    /// The moment until which the entry is fresh, in milliseconds.
    package var freshUntil: Int64 { Int64(bits & UInt64(Self.lastMoment)) }

    /// The generation that read the entry.
    package var generation: UInt64 { bits >> Self.momentBits }

    @usableFromInline package static var momentBits: UInt64 { 40 }
    package static var lastMoment: Int64 { 1 << momentBits - 1 }

    /// Whether an entry with this stamp may be served while the near cache has `word`.
    @inlinable
    package func isServed(under word: UInt64) -> Bool {
        bits > word && (bits ^ word) >> Self.momentBits == 0
    }

    /// The word of a near cache that serves `generation` at `now`.
    package static func word(generation: UInt64, now: Int64) -> UInt64 {
        NearStamp(generation: generation, freshUntil: now).bits
    }

    /// The word of a near cache that serves nothing: no stamp is greater.
    package static var servesNothing: UInt64 { .max }
}
