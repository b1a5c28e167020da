//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

@usableFromInline
enum KeyVerdict { case equal, different, unknown }

/// What a search for a key knows of the entries of its hash, where the key's `==` may do anything: it may wait, store
/// into the cache, or call nobody knows what. So it never runs under a lock.
///
/// Under the lock the entries of the hash are asked for by what identifies them, and the keys of those that are not
/// known are copied. After unlocking these are compared, and under the lock again the verdicts hold for the entries
/// that are still there: until nothing is unknown any more.
///
/// Entries come in the order of the table, the same in each round but for what others have changed meanwhile. So the
/// next verdict is looked for from the last one on, and many keys of one hash cost one comparison each.
///
/// An `==` that itself stores keys of the same hash could go on for ever. After ``KeyHash/comparisonRounds`` rounds in
/// which something was compared, what has no verdict counts as different: at worst there are two entries of equal keys
/// then, of which one is found, and the other one when that has gone.
///
/// Holds one entry without allocating: there is seldom another one of the same hash.
@usableFromInline
struct KeyVerdicts {
    @usableFromInline struct Entry {
        @usableFromInline let identity: UInt64
        @usableFromInline var isEqual = false

        @inlinable
        init(identity: UInt64) { self.identity = identity }
    }

    @usableFromInline var first: Entry?
    @usableFromInline var rest: [Entry] = []
    /// How many have verdicts: those in front.
    @usableFromInline var decided = 0
    /// Where the next one is looked for.
    @usableFromInline var next = 0
    /// Rounds in which something was compared.
    @usableFromInline var rounds = 0

    @inlinable
    init() {}

    /// Begins at the front again, and forgets those that have no verdicts: they may have gone.
    @inlinable
    mutating func beginRound() {
        if decided == 0 { first = nil }
        let kept = max(0, decided &- 1)
        if rest.count > kept { rest.removeLast(rest.count &- kept) }
        next = 0
    }

    /// Forgets what is known: other entries may be identified as those were.
    mutating func forget() { decided = 0 }

    /// What is known of the entry that `identity` identifies, as long as it is there. The key of an unknown one is to
    /// be copied, for ``decideNext(_:)``.
    @inlinable
    mutating func verdict(of identity: UInt64) -> KeyVerdict {
        for _ in 0..<decided {
            let entry = next == 0 ? first.unsafelyUnwrapped : rest[next &- 1]
            next = next &+ 1 == decided ? 0 : next &+ 1
            if entry.identity == identity { return entry.isEqual ? .equal : .different }
        }
        guard rounds <= KeyHash<Int>.comparisonRounds else { return .different }
        if first == nil { first = Entry(identity: identity) } else { rest.append(Entry(identity: identity)) }
        return .unknown
    }

    /// Takes down the verdict about the first entry that has none.
    @inlinable
    mutating func decideNext(_ isEqual: Bool) {
        if decided == 0 { first?.isEqual = isEqual } else { rest[decided &- 1].isEqual = isEqual }
        decided &+= 1
    }

    /// Ends a round in which something was compared.
    @inlinable
    mutating func endRound() { rounds &+= 1 }
}
