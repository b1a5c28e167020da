//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import ForkSafety
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
        /// Each holds a reference of its own, which goes with the seal: a value that comes by costs one retain and one
        /// release, where an array of references would take each several times on the way.
        var entries: [Unmanaged<Extent>] = []
        var head = 0
        var byteCount = 0
    }

    private let state = ForkSafeMutex(State())
    private let limit = Atomic<Int>(WarmQueue.largestLimit)

    /// 8 MiB: sealing that much takes 0.1 ms, so a drain on pressure is quick.
    private static let largestLimit = 8 << 20
    /// What one full queue seals at a time: enough that the cost per call vanishes, little enough not to be felt.
    private static let batch = 512 << 10

    /// Bytes that the queue holds, those pinned again included. At most the limit once every call has returned.
    var byteCount: Int { state.withLock { $0.byteCount } }

    /// Bounds the queue to a sixteenth of what the process may use, and to 8 MiB.
    package func adoptBudget(_ byteCount: Int) {
        limit.store(max(0, min(Self.largestLimit, byteCount / 16)), ordering: .relaxed)
        drain(to: limit.load(ordering: .relaxed))
    }

    /// Seals everything now. To be called when memory runs short.
    package func drain() { drain(to: 0) }

    func enqueue(_ extent: Extent) {
        let limit = limit.load(ordering: .relaxed)
        let entry = Unmanaged.passRetained(extent)
        let byteCount = extent.residentByteCount
        let isFull = state.withLock { state in
            state.entries.append(entry)
            state.byteCount += byteCount
            return state.byteCount > limit
        }
        if isFull { drain(to: limit - min(limit / 4, Self.batch)) }
    }

    private func drain(to target: Int) {
        while true {
            let oldest = state.withLock { take(from: &$0, downTo: target) }
            if oldest.isEmpty { return }
            seal(oldest)
            for entry in oldest { entry.release() }
        }
    }

    /// Takes the oldest entries, about a batch of them, and the references they hold.
    private func take(from state: inout State, downTo target: Int) -> [Unmanaged<Extent>] {
        let first = state.head
        var byteCount = 0
        while state.byteCount > target, state.head < state.entries.count, byteCount < Self.batch {
            let size = state.entries[state.head]._withUnsafeGuaranteedRef { $0.residentByteCount }
            state.head += 1
            state.byteCount -= size
            byteCount += size
        }
        let taken = Array(state.entries[first..<state.head])
        // Moving the rest up pays once half of the array is behind it.
        if state.head * 2 >= state.entries.count {
            state.entries.removeFirst(state.head)
            state.head = 0
        }
        return taken
    }

    /// Seals those that nobody pinned meanwhile, adjacent ones together.
    private func seal(_ entries: [Unmanaged<Extent>]) {
        var busy: [Sealed] = []
        busy.reserveCapacity(entries.count)
        // Values that were made one after another are usually accessed so, too.
        var isSorted = true
        for entry in entries {
            entry._withUnsafeGuaranteedRef { extent in
                guard extent.beginSeal() else { return }
                let next = Sealed(extent: entry, base: extent.base, byteCount: extent.residentByteCount)
                if let last = busy.last, last.base > next.base { isSorted = false }
                busy.append(next)
            }
        }
        if !isSorted { busy.sort { $0.base < $1.base } }
        var first = 0
        while first < busy.count {
            var end = first + 1
            while end < busy.count, busy[end - 1].end == busy[end].base { end += 1 }
            seal(busy[first..<end])
            first = end
        }
    }

    private func seal(_ neighbours: ArraySlice<Sealed>) {
        let first = neighbours[neighbours.startIndex]
        let byteCount = neighbours[neighbours.endIndex - 1].end - first.base
        first.extent._withUnsafeGuaranteedRef { leader in
            let system = leader.pool.system
            let isVolatile = system.advise(first.base, byteCount, .free) == 0
            for one in neighbours {
                // Perhaps one of them alone is locked: ask for each.
                let isOneVolatile =
                    isVolatile || (neighbours.count > 1 && system.advise(one.base, one.byteCount, .free) == 0)
                one.extent._withUnsafeGuaranteedRef { $0.finishSeal(isOneVolatile) }
            }
        }
    }

    /// An extent that the queue has made busy in order to seal it; the batch's reference keeps it.
    private struct Sealed {
        let extent: Unmanaged<Extent>
        let base: UnsafeMutableRawPointer
        let byteCount: Int
        var end: UnsafeMutableRawPointer { base + byteCount }
    }
}
