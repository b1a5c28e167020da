//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Searches for a key among entries of its hash, which others add and remove between the rounds.
@Suite("Keys: what a search knows of the entries of one hash")
struct KeyVerdictsTests {
    private struct Entry {
        let identity: UInt64
        let isEqual: Bool
    }

    /// The index in `entries` that a search ends with; what `change` makes of them it meets in its next round. Counts
    /// the comparisons.
    private func search(
        _ entries: inout [Entry],
        comparisons: inout Int,
        hasGivenUp: inout Bool,
        change: (inout [Entry]) -> Void
    ) -> Int? {
        var verdicts = KeyVerdicts<UInt64>()
        while true {
            verdicts.beginRound()
            var copied: [Entry] = []
            for (index, entry) in entries.enumerated() {
                switch verdicts.verdict(of: entry.identity) {
                case .equal: return index
                case .different: break
                case .unknown: copied.append(entry)
                }
            }
            if copied.isEmpty {
                hasGivenUp = verdicts.hasGivenUp
                return nil
            }
            change(&entries)
            for entry in copied {
                comparisons += 1
                verdicts.decideNext(entry.isEqual)
                if entry.isEqual { break }
            }
            verdicts.endRound()
        }
    }

    @Test("The answer is right for the entries as they are when it is given, whatever has changed before")
    func model() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<20_000 {
            var identity: UInt64 = 0
            // As with generations and locations, none comes again.
            func entry(isEqual: Bool) -> Entry {
                identity += 1
                return Entry(identity: identity, isEqual: isEqual)
            }
            var entries = (0..<Int.random(in: 0...5, using: &random)).map { _ in entry(isEqual: false) }
            if Bool.random(using: &random) {
                entries.insert(entry(isEqual: true), at: Int.random(in: 0...entries.count, using: &random))
            }
            var changes = Int.random(in: 0...6, using: &random)
            var comparisons = 0
            var hasGivenUp = false
            let found = search(&entries, comparisons: &comparisons, hasGivenUp: &hasGivenUp) { entries in
                guard changes > 0 else { return }
                changes -= 1
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    if !entries.isEmpty, Bool.random(using: &random) {
                        entries.remove(at: Int.random(in: 0..<entries.count, using: &random))
                    } else {
                        let isEqual = !entries.contains(where: \.isEqual) && Bool.random(using: &random)
                        let place = Int.random(in: 0...entries.count, using: &random)
                        entries.insert(entry(isEqual: isEqual), at: place)
                    }
                }
            }
            #expect(found == entries.firstIndex { $0.isEqual } && !hasGivenUp)
            #expect(comparisons <= identity, "no entry is compared twice unless it was not reached")
        }
    }

    @Test("Many keys of one hash cost one comparison each")
    func manyKeys() {
        var entries = (1...5000).map { Entry(identity: $0, isEqual: $0 == 5000) }
        var comparisons = 0
        var hasGivenUp = false
        #expect(search(&entries, comparisons: &comparisons, hasGivenUp: &hasGivenUp) { _ in } == 4999)
        #expect(comparisons == 5000)
    }

    @Test("A search that always meets new entries ends, and says that it has given up")
    func endless() {
        var entries = [Entry(identity: 1, isEqual: false)]
        var comparisons = 0
        var hasGivenUp = false
        var next: UInt64 = 1
        let found = search(&entries, comparisons: &comparisons, hasGivenUp: &hasGivenUp) { entries in
            next += 1
            entries = [Entry(identity: next, isEqual: false)]
        }
        #expect(found == nil && hasGivenUp)
        #expect(comparisons == KeyHash<Int>.comparisonRounds + 1)
    }

    @Test("What was not reached is asked for again")
    func unreached() {
        var verdicts = KeyVerdicts<UInt64>()
        verdicts.beginRound()
        #expect(verdicts.verdict(of: 1) == .unknown && verdicts.verdict(of: 2) == .unknown)
        verdicts.decideNext(true)
        verdicts.endRound()
        verdicts.beginRound()
        #expect(verdicts.verdict(of: 2) == .unknown && verdicts.verdict(of: 1) == .equal)
        verdicts.beginRound()
        #expect(verdicts.verdict(of: 1) == .equal && verdicts.verdict(of: 2) == .unknown)
        verdicts.decideNext(false)
        verdicts.beginRound()
        #expect(verdicts.verdict(of: 1) == .equal && verdicts.verdict(of: 2) == .different)
    }
}
