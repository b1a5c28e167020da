//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// Where the current task stands: inside which load, if any.
struct LoadContext: Sendable {
    /// The load that the current task works for.
    @TaskLocal static var current: LoadContext?

    /// The innermost load.
    let run: LoadRun
    /// Whether the load has asked for itself once already, and was answered by an unshared load.
    let isRecursing: Bool

    /// Runs `operation` as part of `run`.
    static func inside<R>(
        _ run: LoadRun,
        isRecursing: Bool = false,
        _ operation: () async -> R
    ) async -> R {
        await $current.withValue(LoadContext(run: run, isRecursing: isRecursing), operation: operation)
    }
}

/// Which load waits for which: an edge for every caller inside one load that waits for another one.
///
/// A caller whose edge would close a circle must not wait: the load would wait for itself, straight away or around
/// other loads, of this cache or another, in this task or another. Only loads within loads come here; it is one lock
/// for the process, held for a walk over as many edges as there are nested waits.
///
/// An edge is taken to be a wait of the load itself. A child of the load that nobody awaits (a `Task` it leaves behind)
/// is told of a circle where there is none; `Task.detached` leaves the load.
enum WaitGraph {
    private static let edges = ForkSafeMutex<[Edge]>([])

    private struct Edge {
        let waiting: LoadRun
        let awaited: LoadRun
    }

    /// Notes that `waiting` waits for `awaited`; false, and nothing noted, if that would be for ever.
    static func begin(_ waiting: LoadRun, awaits awaited: LoadRun) -> Bool {
        edges.withLock { edges in
            var reached: [LoadRun] = [awaited]
            var next = 0
            while next < reached.count {
                let run = reached[next]
                if run === waiting { return false }
                for edge in edges where edge.waiting === run && !reached.contains(where: { $0 === edge.awaited }) {
                    reached.append(edge.awaited)
                }
                next += 1
            }
            edges.append(Edge(waiting: waiting, awaited: awaited))
            return true
        }
    }

    /// The wait is over.
    static func end(_ waiting: LoadRun, awaits awaited: LoadRun) {
        edges.withLock { edges in
            guard let index = edges.firstIndex(where: { $0.waiting === waiting && $0.awaited === awaited }) else {
                return
            }
            edges.swapAt(index, edges.count - 1)
            edges.removeLast()
        }
    }
}
