//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import Foundation
import Glibc

/// What a child of this program is to do. It travels as JSON in the child's arguments.
enum ChildOrder: Codable {
    /// Run the workload over one kind of cache.
    case run(RunOrder)
    /// Take so many bytes in a group, beside a run, and hold them; 0 only tries whether the group can be joined.
    case neighbour(group: ControlGroup?, bytes: Int)

    /// Does what `text` orders.
    static func obey(_ text: String) async throws {
        let order = try JSONDecoder().decode(ChildOrder.self, from: Data(text.utf8))
        // Where memory runs out with no cgroup of ours in force, the kernel is to choose us, not our parent.
        try? ControlGroup.write("1000", to: "/proc/self/oom_score_adj")
        switch order {
        case .run(let order):
            // First of all, so that all that follows is charged to the run's own group.
            try order.group?.admit(getpid())
            await Runner(order).run()
        case .neighbour(let group, let bytes):
            try group?.admit(getpid())
            takeMemory(bytes)
        }
    }

    /// Seconds in which the neighbour takes its memory: much faster than a cache fills, slower than a burst.
    private static let ramp = 0.5

    /// Another tenant of the container: it takes ordinary memory at a steady rate and holds it until the parent closes
    /// its standard input, or is gone.
    private static func takeMemory(_ bytes: Int) {
        // Every page is written, as by a process that computes.
        let pieces = (0..<bytes >> 20).map { piece in
            usleep(UInt32(ramp * 1e6) / UInt32(bytes >> 20))
            return [UInt8](repeating: UInt8(truncatingIfNeeded: piece | 1), count: 1 << 20)
        }
        withExtendedLifetime(pieces) { while readLine() != nil {} }
    }
}
