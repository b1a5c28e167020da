//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What happens at which usage: all marks between an empty container and a killed process, in one place.
///
/// ```
/// 0 ───────────── near ── mark ────── brink ── warning ── critical ── limit
///   large grants    small   evict      wait       levels of pressure
/// ```
/// With the least reserve the brink is where the first level of pressure is. The others lie between: ``ample`` below
/// ``near``, ``watched`` below the mark, ``goal`` between ``near`` and the mark, ``halfway`` from the mark to the
/// brink, and ``last`` where ``critical`` is.
package struct MemoryMarks: Sendable, Equatable {
    /// Bytes that the constraint allows.
    package var limit: Int
    /// Bytes that caches leave free: for what the rest of the process takes at once.
    package var reserve: Int

    /// An eighth of the limit is reserved at least: a burst of 3 GB/s takes 10 ms for the last eighth of 256 MiB, and
    /// the kernel's first notification would come at the limit.
    package init(limit: Int, reserve: Int = 0) {
        self.limit = limit
        self.reserve = min(max(reserve, Self.leastReserve(limit)), limit - limit / 16)
    }

    /// Bytes that caches leave free below `limit` at least.
    package static func leastReserve(_ limit: Int) -> Int { limit / 8 }

    /// Up to here there is so much room that insertions may go on for a while without a look.
    package var ample: Int { mark - limit / 4 }
    /// From here on usage is looked at in short turns while it moves: three quarters of the mark.
    package var watched: Int { mark - mark / 4 }
    /// From here on grants are small, and every insertion counts.
    package var near: Int { mark - limit / 16 }
    /// A little below the mark: where making room ends, and a burst begins to matter.
    package var goal: Int { mark - limit / 32 }
    /// Where eviction begins.
    package var mark: Int { limit - reserve }
    /// Half way from the mark to the brink: as far as usage is brought back from there.
    package var halfway: Int { mark + (brink - mark) / 2 }
    /// Where insertions wait for memory to be returned.
    package var brink: Int { limit - reserve / 2 }
    /// From here on eviction goes on whatever it costs: 1/32 before the limit.
    package var last: Int { limit - limit / 32 }

    /// How far insertions may carry usage beyond the mark by themselves.
    package var play: Int { limit / 64 }
    /// What usage must be beyond the mark before a trim, or an eviction that no insertion asked for, is worth its time:
    /// half of the play.
    package var leastRelief: Int { limit / 128 }
    /// The least that a step of eviction takes, and a trim is for.
    package var leastStep: Int { limit / 64 }

    /// Where the levels of pressure begin. Each is left ``levelMargin`` lower. Insertions keep usage at the mark and a
    /// little, so a cache that fills what it may raises no level by itself.
    package var warning: Int { limit - limit / 16 }
    package var critical: Int { limit - limit / 32 }
    package var levelMargin: Int { limit / 32 }
}
