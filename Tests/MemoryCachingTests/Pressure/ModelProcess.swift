//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure

@testable import MemoryCaching

/// A process as the ledger sees it, without a kernel: insertions grow usage unless they fall into holes that fit them;
/// evictions leave holes; a trim returns the part of them that makes whole pages.
struct ModelProcess {
    var ledger: AdmissionLedger
    var limit = 256 << 20
    var used = 12 << 20
    /// Bytes of entries by the arena they lie in.
    var lives: [Int]
    var live: Int { lives.reduce(0, +) }
    /// Holes by the arena they lie in: one thread's insertions fill its own arena's alone.
    var holes: [Int]
    /// Which part of a hole can be returned (whole free pages), and which be filled again.
    var returnable = 0.9
    var fillable = 1.0
    /// The arena that a trim can return holes of; nil for all.
    var trimmedArena: Int?
    /// Whether a value leaves its hole in the arena of the thread that inserted it.
    var keepsToArenas = false
    var trims = 0
    var evicted = 0
    var highest = 0
    var lowestLive = Int.max
    private var spent = 0
    private var turn = 0

    init(arenas: Int = 1, ledger: AdmissionLedger = AdmissionLedger(countsOnRelease: true)) {
        self.ledger = ledger
        holes = Array(repeating: 0, count: arenas)
        lives = holes
    }

    var look: AdmissionLedger.Look { .init(limit: limit, used: used) }

    /// One thread inserts what it was granted; usage may exceed the limit only over the model's dead body.
    mutating func insert(thread: Int, bytes: Int) {
        let filled = min(Int(Double(holes[thread]) * fillable), bytes)
        holes[thread] -= filled
        used += bytes - filled
        lives[thread] += bytes
        spent += bytes
        highest = max(highest, used)
    }

    mutating func evict(_ bytes: Int) -> Int {
        let live = live
        let bytes = min(bytes, live)
        evicted += bytes
        for arena in holes.indices where live > 0 {
            let freed = Int(Double(lives[arena]) / Double(live) * Double(bytes))
            lives[arena] -= freed
            // What threads insert of which there are more than one lies mixed, unless they keep to their arenas.
            if keepsToArenas {
                holes[arena] += freed
            } else {
                for other in holes.indices { holes[other] += freed / holes.count }
            }
        }
        return bytes
    }

    mutating func trim() {
        trims += 1
        let before = used
        for arena in holes.indices where trimmedArena ?? arena == arena {
            let returned = Int(Double(holes[arena]) * returnable)
            holes[arena] -= returned
            used -= returned
        }
        ledger.trimmed(from: before, to: look)
    }

    mutating func ask() -> Int {
        ledger.observe(look, inserted: spent)
        spent = 0
        let decision = ledger.admit(look, outstanding: 0)
        carryOut(decision)
        return decision.grant
    }

    mutating func carryOut(_ decision: AdmissionLedger.Decision) {
        if decision.evict > 0 { ledger.evicted(evict(decision.evict), asked: decision.evict) }
        if decision.trims, turn % 50 == 0 || decision.waits { trim() }
        var round = 0
        while decision.waits, used > look.marks.halfway, live > 0, round < 16 {
            ledger.evicted(evict(max(used - look.marks.brink, (limit / 64) << min(round, 8))))
            trim()
            round += 1
        }
        turn += 1
    }

    mutating func fill(_ bytes: Int, threads: Int, grantSpeed: Double = 1) {
        var left = bytes
        while left > 0 {
            for thread in 0..<threads {
                let grant = Int(Double(ask()) * grantSpeed)
                insert(thread: thread % holes.count, bytes: grant)
                left -= grant
            }
            if used > look.marks.mark { lowestLive = min(lowestLive, live) }
        }
    }
}
