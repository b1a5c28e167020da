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
/// that are still there: until nothing is unknown any more. An entry keeps its identity whatever value it gets.
///
/// Entries come in the order of the table, the same in each round but for what others have changed meanwhile. So the
/// next verdict is looked for from the last one on, and many keys of one hash cost one comparison each.
///
/// An `==` that itself stores keys of the same hash could go on for ever, and so could a thread that removes the key and
/// sets it again while a slow `==` runs. After ``KeyHash/comparisonRounds`` rounds in which something was compared the
/// search gives up, and what has no verdict counts as different. Each such entry has come since the search began: one
/// that was there before would have been found equal or different in the first round. So a lookup and a removal may
/// say that the key is not there, for it was not when its last entry had gone. An insertion must not make a second
/// entry of the key: its value counts as set before what has come since, and is refused.
///
/// Holds one entry without allocating: there is seldom another one of the same hash.
@usableFromInline
struct KeyVerdicts<Identity> {
    @usableFromInline struct Entry {
        @usableFromInline let identity: Identity
        @usableFromInline var isEqual = false

        @inlinable
        init(identity: Identity) { self.identity = identity }
    }

    @usableFromInline var first: Entry?
    @usableFromInline var rest: [Entry] = []
    /// How many have verdicts: those in front.
    @usableFromInline var decided = 0
    /// Where the next one is looked for.
    @usableFromInline var next = 0
    /// Rounds in which something was compared.
    @usableFromInline var rounds = 0
    /// Whether something that has no verdict was taken for different in this round.
    @usableFromInline var hasGivenUp = false

    @inlinable
    init() {}

    /// Begins at the front again, and forgets those that have no verdicts: they may have gone.
    @inlinable
    mutating func beginRound() {
        if decided == 0 { first = nil }
        let kept = max(0, decided &- 1)
        if rest.count > kept { rest.removeLast(rest.count &- kept) }
        next = 0
        hasGivenUp = false
    }

    /// What is known of the entry that `isIt` knows by its identity. Of an unknown one `identity` is taken down, and its
    /// key is to be copied, for ``decideNext(_:)``.
    @inlinable
    @inline(__always)
    mutating func verdict(where isIt: (Identity) -> Bool, identity: () -> Identity) -> KeyVerdict {
        for _ in 0..<decided {
            let entry = next == 0 ? first.unsafelyUnwrapped : rest[next &- 1]
            next = next &+ 1 == decided ? 0 : next &+ 1
            if isIt(entry.identity) { return entry.isEqual ? .equal : .different }
        }
        guard rounds <= KeyHash<Int>.comparisonRounds else {
            hasGivenUp = true
            return .different
        }
        if first == nil { first = Entry(identity: identity()) } else { rest.append(Entry(identity: identity())) }
        return .unknown
    }

    /// Takes down the verdict about the first entry that has none.
    @inlinable
    mutating func decideNext(_ isEqual: Bool) {
        if decided == 0 { first?.isEqual = isEqual } else { rest[decided &- 1].isEqual = isEqual }
        decided &+= 1
    }

    /// Asks about the entries that have no verdict, one after the other, until one is equal.
    mutating func decide(by isEqual: (Identity) -> Bool) {
        let count = (first == nil ? 0 : 1) + rest.count
        while decided < count {
            let identity = decided == 0 ? first.unsafelyUnwrapped.identity : rest[decided &- 1].identity
            let isEqual = isEqual(identity)
            decideNext(isEqual)
            if isEqual { break }
        }
        endRound()
    }

    /// Ends a round in which something was compared.
    @inlinable
    mutating func endRound() { rounds &+= 1 }
}

extension KeyVerdicts where Identity == UInt64 {
    /// What is known of the entry that `identity` identifies.
    @inlinable
    mutating func verdict(of identity: UInt64) -> KeyVerdict {
        verdict(where: { $0 == identity }, identity: { identity })
    }
}
