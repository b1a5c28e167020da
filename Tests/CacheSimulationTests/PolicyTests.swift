//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import CacheSimulation

/// Requests as letters, hits as `h` and misses as `.`: a policy's behaviour in a line.
func pattern<Policy: CachePolicy>(
    _ policy: Policy.Type,
    _ letters: String,
    capacity: Int,
    sizes: [Character: Int] = [:],
    costs: [Character: Double] = [:]
) -> String {
    let requests = letters.map { letter in
        TraceRequest(key: UInt64(letter.asciiValue ?? 0), size: sizes[letter] ?? 1, cost: costs[letter])
    }
    let trace = IndexedTrace(Trace(name: "letters", requests), costs: costs.isEmpty ? .none : .trace)
    var setting = PolicySetting(capacity: capacity, trace: trace, weighsCosts: !costs.isEmpty)
    setting.nextPositions = trace.nextPositions()
    var cache = Policy(setting)
    return trace.requests.enumerated().map { position, key in
        let isHit = cache.request(Int(key), at: position)
        #expect(cache.used <= capacity)
        return isHit ? "h" : "."
    }.joined()
}

@Suite("Policies, worked out by hand")
struct PolicyTests {
    @Test("FIFO: a hit saves nobody")
    func fifo() { #expect(pattern(FIFOPolicy.self, "abacab", capacity: 2) == "..h...") }

    @Test("LRU: a hit saves its key")
    func lru() { #expect(pattern(LRUPolicy.self, "abacab", capacity: 2) == "..h.h.") }

    @Test("SIEVE: the hand spares the visited once and stays where it was")
    func sieve() {
        // d: the hand clears a, takes b and stops at c. e: it takes c; a is still there, and d after it.
        #expect(pattern(SIEVEPolicy.self, "abcadead", capacity: 3) == "...h..hh")
    }

    @Test("S3-FIFO: one access on trial is too few, a return from the ghosts goes to the main queue")
    func s3FIFO() {
        // Ten places, of which one is on trial: k evicts a, which was accessed once only, and a returns to the main
        // queue.
        #expect(pattern(S3FIFOPolicy.self, "aabcdefghijka", capacity: 10) == ".h...........")
        // Accessed twice, it is moved to the main queue instead.
        #expect(pattern(S3FIFOPolicy.self, "aaabcdefghijka", capacity: 10) == ".hh..........h")
        // Returned from the ghosts, it outlives newcomers on trial.
        #expect(pattern(S3FIFOPolicy.self, "abcdefghijkalmnopqrsta", capacity: 10).last == "h")
    }

    @Test("ARC: keys seen twice survive a scan")
    func arc() {
        #expect(pattern(ARCPolicy.self, "ababcdefgab", capacity: 4) == "..hh.....hh")
        #expect(pattern(LRUPolicy.self, "ababcdefgab", capacity: 4) == "..hh.......")
    }

    @Test("W-TinyLFU: what is often asked for is not given up for a scan")
    func wTinyLFU() {
        let scan = "cdefghijklmnopqrstuvwxyz"
        #expect(pattern(WTinyLFUPolicy.self, "ababababab" + scan + "ab", capacity: 4).hasSuffix("hh"))
    }

    @Test("GDSF: small before large, frequent before rare, dear before cheap")
    func gdsf() {
        #expect(pattern(GDSFPolicy.self, "abcba", capacity: 10, sizes: ["a": 8, "b": 2, "c": 2]) == "...h.")
        #expect(pattern(GDSFPolicy.self, "aabca", capacity: 2) == ".h..h")
        #expect(pattern(GDSFPolicy.self, "abca", capacity: 2, costs: ["a": 5, "b": 1, "c": 1]) == "...h")
        #expect(pattern(GDSFPolicy.self, "abca", capacity: 2) == "....")
    }

    @Test("Foundation's NSCache: the newest among equals goes first, itself included")
    func foundationNSCache() {
        #expect(pattern(FoundationNSCachePolicy.self, "abcabc", capacity: 2) == "...hh.")
        // The cheapest first: b goes for c, c for a larger d.
        #expect(
            pattern(FoundationNSCachePolicy.self, "abcab", capacity: 5, sizes: ["a": 3, "b": 1, "c": 2]) == "...h."
        )
    }

    @Test("Belady keeps what comes first")
    func belady() { #expect(pattern(BeladyPolicy.self, "abcabdabc", capacity: 2) == "...h..h..") }

    @Test("BelSize lets large ones go, and need not take a newcomer")
    func belSize() {
        #expect(pattern(BelSizePolicy.self, "abcbca", capacity: 10, sizes: ["a": 8, "b": 2, "c": 2]) == "...hh.")
        #expect(pattern(BelSizePolicy.self, "abcab", capacity: 2) == "...hh")
    }

    @Test("What is larger than the cache is never kept, and evicts nobody")
    func oversize() {
        func check(_ policy: (some CachePolicy).Type) {
            #expect(pattern(policy, "axxa", capacity: 20, sizes: ["a": 1, "x": 21]) == "...h", "\(policy)")
        }
        check(FIFOPolicy.self)
        check(LRUPolicy.self)
        check(ARCPolicy.self)
        check(SIEVEPolicy.self)
        check(S3FIFOPolicy.self)
        check(WTinyLFUPolicy.self)
        check(GDSFPolicy.self)
        check(BeladyPolicy.self)
        check(BelSizePolicy.self)
        check(LazyGreedyDualReference.self)
        check(MemoryCachePolicy.self)
    }
}
