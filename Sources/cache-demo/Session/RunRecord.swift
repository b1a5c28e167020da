//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What became of one run.
struct RunRecord: Sendable {
    /// How a run ended.
    enum Fate: Sendable, Equatable {
        /// Time was up.
        case survived
        /// The kernel killed it for want of memory.
        case killed
        /// It ended otherwise, in these words.
        case failed(String)
    }

    let contender: Contender
    /// What its cgroup allows, in bytes; nil where it has none.
    let limitBytes: Int?
    var samples: [Sample] = []
    var fate = Fate.survived
    /// The neighbour's stay so far, in seconds since the run's start.
    var neighbour: ClosedRange<Double>?
    /// The last that it printed and that was no sample.
    var words = ""

    /// The last figures that it told; all zero if it never did.
    var last: Sample { samples.last ?? Sample() }

    /// The share of hits over about the last second.
    var recentHitRate: Double? {
        last.hitRate(since: samples.last { $0.time <= last.time - 1 } ?? Sample())
    }

    /// Whether the neighbour is there at this moment.
    var isNeighbourIn: Bool { neighbour?.upperBound == last.time }

    /// Whether memory was ever short: without that a run proves nothing.
    var memoryWasShort: Bool {
        // A control tells of nothing that leaves, but its cgroup fills up. (The last sixteenth is the kernel's: it
        // reclaims before it refuses.)
        let full = limitBytes.map { $0 / 16 * 15 } ?? .max
        return fate == .killed || samples.contains { $0.evictions > 0 || $0.groupBytes ?? 0 >= full }
    }

    /// What the promise is: alive to the end, the burst among it, and no wrong byte.
    var keptItsPromise: Bool {
        fate == .survived && last.burst == .over && last.wrong == 0 && last.failures == 0 && last.requests > 0
    }

    /// Whether it died of its own burst: it had begun to take it and not yet given it back.
    var diedOfBurst: Bool { fate == .killed && (last.burst == .coming || last.burst == .held) }
}
