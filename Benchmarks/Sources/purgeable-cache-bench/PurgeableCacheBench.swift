//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser

/// Measures `PurgeableCache` against a dictionary of arrays and a CLOCK cache of ordinary memory, in one sitting.
@main
struct PurgeableCacheBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purgeable-cache-bench",
        abstract: "Measures PurgeableCache: time of a hit, memory per item, hit ratio in a container.",
        discussion: """
            hit-ratio and fill are to be run in a memory cgroup, and say which limit they have found. From the \
            package's folder, with PROGRAM the path of this one:

            bash -ec '. Scripts/memory-cgroup.sh
              memory_cgroup bench $((256 << 20))
              inside PROGRAM hit-ratio'
            """,
        subcommands: [Hits.self, HitRatio.self, Fill.self]
    )
}
