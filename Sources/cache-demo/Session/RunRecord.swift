//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What became of one run.
struct RunRecord: Codable, Sendable {
    /// How a run ended.
    enum Fate: Codable, Sendable, Equatable {
        /// Time or requests were up.
        case survived
        /// The kernel killed it for want of memory.
        case killed
        /// It did not end by itself and was stopped.
        case stuck
        /// It ended otherwise, in these words.
        case failed(String)
    }

    /// The neighbour's stay, in seconds since the run's start.
    struct Stay: Codable, Sendable, Equatable {
        var from: Double
        /// When it held all of its memory; nil if it never did.
        var full: Double?
        var until: Double
        var killed = false
    }

    var contender: Contender
    var samples: [Sample] = []
    var fate = Fate.survived
    /// Seconds from the run's start to its end.
    var seconds = 0.0
    /// What its cgroup allows, in bytes; nil where it has none.
    var limitBytes: Int?
    var neighbour: Stay?
    /// What it printed that was no report.
    var words: [String] = []

    init(_ contender: Contender) { self.contender = contender }

    /// The last figures that it told; all zero if it never did.
    var last: Sample { samples.last ?? Sample() }

    /// The share of hits over about the last second.
    var recentHitRate: Double? {
        guard let last = samples.last else { return nil }
        return last.hitRate(since: samples.last { $0.time <= last.time - 1 } ?? Sample())
    }

    /// Whether memory was ever short: without that a run proves nothing.
    var memoryWasShort: Bool {
        fate == .killed
            || samples.contains { sample in
                sample.evictions["pressure", default: 0] + sample.evictions["discarded", default: 0] > 0
                    // A control tells of nothing that leaves, but its cgroup fills up. (The last sixteenth is the
                    // kernel's: it reclaims before it refuses.)
                    || limitBytes.map { sample.groupBytes ?? 0 >= $0 / 16 * 15 } == true
            }
    }

    /// What the promise is: alive to the end, and no wrong byte.
    var keptItsPromise: Bool { fate == .survived && last.wrong == 0 && last.failures == 0 && last.requests > 0 }
}
