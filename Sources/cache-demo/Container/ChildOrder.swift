//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc

/// What a child of this program is to do. It travels as JSON in the child's arguments.
enum ChildOrder: Codable {
    /// Argument by which the program knows that it is a child.
    static let argument = "__child"

    /// Join a group and leave again: can it be done?
    case probe(ControlGroup)
    /// Run the workload over one kind of cache.
    case run(WorkloadOrder)
    /// Take memory beside a run, and hold it.
    case neighbour(NeighbourOrder)

    func encoded() throws -> String { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }

    /// Does what `text` orders and ends the process.
    static func obey(_ text: String) async -> Never {
        guard let order = try? JSONDecoder().decode(ChildOrder.self, from: Data(text.utf8)) else {
            exit(BadInput.usage)
        }
        // Where memory runs out with no cgroup of ours in force, the kernel is to choose us, not our parent.
        try? KernelFile.write("1000", to: "/proc/self/oom_score_adj")
        do {
            switch order {
            case .probe(let group): try group.admit(getpid())
            case .run(let order): try await Runner.run(order)
            case .neighbour(let order): try Neighbour.run(order)
            }
            exit(0)
        } catch {
            emit(ChildReport.words("\(error)").line + "\n", to: 1)
            exit(1)
        }
    }
}
