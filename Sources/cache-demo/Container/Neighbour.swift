//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc

/// Another tenant of the container: it takes ordinary memory at a steady rate, holds it, and gives it back by ending.
struct NeighbourOrder: Codable {
    var group: ControlGroup?
    var byteCount: Int
    /// Seconds over which it takes them.
    var ramp: Double
}

enum Neighbour {
    static func run(_ order: NeighbourOrder) throws {
        try order.group?.admit(getpid())
        let step = 1 << 20
        let steps = max(1, order.byteCount / step)
        let memory = mmap(
            nil,
            order.byteCount,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
            -1,
            0
        )
        guard let memory, memory != MAP_FAILED else { throw ControlGroup.Refused(doing: "mmap") }
        let start = ContinuousClock.now
        for index in 0..<steps {
            let offset = index * step
            // Every page is written, with bytes of no pattern, as a process that computes would.
            memset(memory + offset, Int32(truncatingIfNeeded: index | 1), min(step, order.byteCount - offset))
            let due = start + .seconds(order.ramp) * (Double(index + 1) / Double(steps))
            let early = due - .now
            if early > .zero { usleep(UInt32(early / .microseconds(1))) }
        }
        emit(ChildReport.holding(order.byteCount).line + "\n", to: 1)
        // Hold it until the parent closes the pipe, or is gone.
        while getchar() != EOF {}
    }
}
