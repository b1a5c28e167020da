//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import MemoryPressure

/// How many shards a cache has on this machine; all numbers of shards are logarithms.
enum ShardCounts {
    /// Sixteen shards for each processor, from 16 to 64, and 128 with more than 16 processors, which is what the hash
    /// has bits for.
    ///
    /// On two processors two threads that set what they do not find among 100,000 entries made 1.38 times the
    /// operations of one with 16 shards, 1.57 times with 32 and 1.67 times with 64. The price is one thread's, because
    /// what a call needs of each shard is more seldom in the nearest cache: a set that evicts took 112, 114 and 120 ns
    /// (AMD EPYC, medians of seven processes).
    static var most: Int { processors > 4 ? 7 : min(max(4, processors + 4), 6) }

    /// What the first shard is divided into: four for each processor, from 16 to 64.
    static var first: Int { min(max(4, processors + 2), 6) }

    /// Entries beyond which one of 2 to the power of `logarithm` shards has more of them made.
    ///
    /// Up to 4,096 in all, exact order and a small footprint are worth more than parallelism. The second division comes
    /// as soon as each new shard has 1,024 entries to rank, or with 65,536 in all, of which 128 shards have 512; see
    /// `CacheEngine/fewToChooseFrom`. Not sooner: disk blocks of many sizes missed .63 instead of .605 with 32 shards
    /// at once (s_cloudphysicsIO, 507 MB), and .4704 instead of .4688 with 512 entries in each (s_arc_p12, 10 %). Not
    /// later: the more entries are moved again, the longer a new cache takes to fill.
    static func mostEntries(_ logarithm: Int) -> UInt32 {
        switch logarithm {
        case 0: 4096
        case most...: .max
        default: min(1024 << UInt32(most), 65_536) >> UInt32(logarithm)
        }
    }

    /// The number of processors, rounded up, as a logarithm.
    ///
    /// Compiled with `CACHE_INTERNAL_CHECKS`, the environment's `CACHE_PROCESSORS` says how many processors there are:
    /// what holds on a small machine need not hold on a large one.
    private static var processors: Int {
        var count = Int(cms_processor_count())
        #if CACHE_INTERNAL_CHECKS
        if let value = SystemFiles.system.environment("CACHE_PROCESSORS").flatMap({ Int($0) }) { count = value }
        #endif
        return Int.bitWidth - (max(1, count) - 1).leadingZeroBitCount
    }
}
