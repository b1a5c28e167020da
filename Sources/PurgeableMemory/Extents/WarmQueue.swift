//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import Synchronization

/// Extents that were accessed lately and are kept as they are for a while, because making pages volatile and pinning
/// them again costs 0.7 µs for one page and 30 µs for a mebibyte, and a warm extent is pinned for nothing.
///
/// First in, first out, bounded in bytes. When full it seals its oldest entries, neighbours in one call
/// (`MADV_FREE` costs about 0.55 µs a call and 50 ns a page). Warm memory is not volatile, so whoever feels memory
/// pressure drains the queue.
///
/// The queue may know of extents that were pinned again or died since; the extent's own state decides, and an extent
/// stands in the queue at most once (its queued bit).
package final class WarmQueue: Sendable {
    private struct State {
        var entries: [Extent] = []
        var head = 0
        var byteCount = 0
    }

    private let state = Mutex(State())
    private let limit = Atomic<Int>(WarmQueue.largestLimit)

    /// 8 MiB: sealing that much takes 0.1 ms, so a drain on pressure is quick.
    private static let largestLimit = 8 << 20
    /// What one full queue seals at a time: enough that the cost per call vanishes, little enough not to be felt.
    private static let batch = 512 << 10

    /// Bytes that the queue holds, those pinned again included. At most the limit once every call has returned.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// Bounds the queue to a sixteenth of what the process may use, and to 8 MiB.
    package func adoptBudget(_ byteCount: Int) {
        limit.store(max(0, min(Self.largestLimit, byteCount / 16)), ordering: .relaxed)
        drain(to: limit.load(ordering: .relaxed))
    }

    /// Seals everything now. To be called when memory runs short.
    package func drain() { drain(to: 0) }

    func enqueue(_ extent: Extent) {
        let limit = limit.load(ordering: .relaxed)
        let isFull = state.withLock { state in
            state.entries.append(extent)
            state.byteCount += extent.residentByteCount
            return state.byteCount > limit
        }
        if isFull { drain(to: limit - min(limit / 4, Self.batch)) }
    }

    private func drain(to target: Int) {
        while true {
            let oldest = state.withLock { take(from: &$0, downTo: target) }
            if oldest.isEmpty { return }
            seal(oldest)
        }
    }

    /// Takes the oldest entries, about a batch of them.
    private func take(from state: inout State, downTo target: Int) -> [Extent] {
        var taken: [Extent] = []
        var byteCount = 0
        while state.byteCount > target, state.head < state.entries.count, byteCount < Self.batch {
            let extent = state.entries[state.head]
            state.head += 1
            state.byteCount -= extent.residentByteCount
            byteCount += extent.residentByteCount
            taken.append(extent)
        }
        // Entries that are gone still hold references until they make up half of the array.
        if state.head * 2 >= state.entries.count {
            state.entries.removeFirst(state.head)
            state.head = 0
        }
        return taken
    }

    /// Seals those that nobody pinned meanwhile, adjacent ones together.
    private func seal(_ extents: [Extent]) {
        var busy = extents.filter { $0.beginSeal() }
        // Values that were made one after another are usually accessed so, too.
        let isSorted = zip(busy, busy.dropFirst()).allSatisfy { $0.base < $1.base }
        if !isSorted { busy.sort { $0.base < $1.base } }
        var first = 0
        while first < busy.count {
            var end = first + 1
            while end < busy.count, busy[end - 1].base + busy[end - 1].residentByteCount == busy[end].base { end += 1 }
            seal(busy[first..<end])
            first = end
        }
    }

    private func seal(_ neighbours: ArraySlice<Extent>) {
        let system = neighbours.first!.pool.system
        let byteCount = neighbours.reduce(0) { $0 + $1.residentByteCount }
        if system.advise(neighbours.first!.base, byteCount, .free) == 0 {
            for extent in neighbours { extent.finishSeal(true) }
        } else {
            // Perhaps one of them alone is locked: ask for each.
            for extent in neighbours {
                extent.finishSeal(
                    neighbours.count > 1 && system.advise(extent.base, extent.residentByteCount, .free) == 0
                )
            }
        }
    }
}
