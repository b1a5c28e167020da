//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import TieredCaching

@testable import MemoryCaching

/// Walks a small world through every order in which its parts can run: processes with their event thread and their
/// tasks apart, pipes to and from the server, an origin that changes. The machines are the product's own.
@Suite("Every interleaving of processes, server and origin")
struct InterleavingTests {
    struct Plan {
        /// Lookups that each process makes, one after the other.
        var lookups: [Int]
        /// Removals after a change of the origin, by process.
        var changes: [Int]
        /// Lookups without a load, by process: at any time, also beside others.
        var readings = [0, 0]
        /// The server has the value of the origin when the walk begins.
        var isStored = false
        /// The connection of this process is cut and made anew, once.
        var cuts: Int?
        /// This process begins without a connection. Its first attempt to connect fails, the second one succeeds.
        var late: Int?
        var fault = Fault.none
    }

    /// Ways to be wrong, each of which the walk must catch.
    enum Fault {
        case none, keepsWithoutAsking, fillsWithoutLease, ignoresLostConnection, dropsOnlyBefore, displacesOnly
        case keepsUnfiled, renewsUnfiled
    }

    @Test(
        "What is served when all is quiet is what the origin has",
        arguments: [
            Plan(lookups: [1, 0], changes: [0, 1]),
            Plan(lookups: [2, 0], changes: [0, 1]),
            Plan(lookups: [1, 1], changes: [0, 1]),
            Plan(lookups: [2, 0], changes: [1, 0]),
            Plan(lookups: [1, 0], changes: [0, 2]),
            Plan(lookups: [2, 0], changes: [0, 1], cuts: 0),
            Plan(lookups: [1, 0], changes: [0, 1], readings: [1, 0], isStored: true),
            Plan(lookups: [1, 0], changes: [1, 0], readings: [1, 0], isStored: true),
            Plan(lookups: [0, 0], changes: [0, 1], readings: [3, 0], isStored: true),
            Plan(lookups: [0, 0], changes: [0, 1], readings: [2, 0], isStored: true, cuts: 0),
            Plan(lookups: [2, 0], changes: [0, 1], late: 0),
            Plan(lookups: [2, 0], changes: [1, 0], late: 0),
            Plan(lookups: [1, 0], changes: [0, 1], readings: [1, 0], isStored: true, late: 0),
        ]
    )
    func coherence(_ plan: Plan) {
        var walk = Walk()
        walk.run(World(plan))
        #expect(walk.violation == nil)
        #expect(walk.ends > 0)
        print("\(plan.lookups) lookups, \(plan.changes) changes: \(walk.seen.count) states, \(walk.ends) ends")
    }

    @Test(
        "A fault is caught",
        arguments: [
            Plan(lookups: [1, 0], changes: [0, 1], fault: .keepsWithoutAsking),
            Plan(lookups: [1, 0], changes: [0, 1], fault: .fillsWithoutLease),
            Plan(lookups: [1, 0], changes: [0, 1], cuts: 0, fault: .ignoresLostConnection),
            Plan(lookups: [2, 0], changes: [1, 0], fault: .dropsOnlyBefore),
            Plan(lookups: [1, 0], changes: [0, 1], readings: [1, 0], isStored: true, fault: .displacesOnly),
            Plan(lookups: [0, 0], changes: [0, 1], readings: [2, 0], isStored: true, fault: .keepsUnfiled),
            Plan(lookups: [2, 0], changes: [0, 2], cuts: 0, fault: .renewsUnfiled),
        ]
    )
    func faults(_ plan: Plan) {
        var walk = Walk()
        walk.run(World(plan))
        #expect(walk.violation != nil)
    }

    /// Depth first over all states, each visited once.
    struct Walk {
        var seen: Set<World> = []
        var ends = 0
        var violation: String?

        mutating func run(_ start: World) {
            var stack = [start]
            while let world = stack.popLast(), violation == nil {
                guard seen.insert(world).inserted else { continue }
                let next = world.successors()
                violation = world.violation ?? (next.isEmpty ? world.violationAtRest : nil)
                if next.isEmpty { ends += 1 }
                stack += next
            }
        }
    }
}
