//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

package import MemoryCaching
import Synchronization

/// The least that a governor can govern: arrays of bytes, first in, first out, each byte worth `price`.
package final class QueueCache: ReclaimableCache {
    private struct State {
        var values: [[UInt8]] = []
        var first = 0
        var bytes = 0
        var credit = InsertionCredit()
        var price: Double
    }

    private let state: Mutex<State>
    package let membership: PressureMembership
    private let givesCosts: Bool
    private let unused = Mutex(0)
    private let evictionHandler = Mutex<(@Sendable () -> Void)?>(nil)

    package init(governor: MemoryGovernor, price: Double = 1, givesCosts: Bool = true) {
        membership = PressureMembership(governor: governor)
        state = Mutex(State(price: price))
        self.givesCosts = givesCosts
    }

    package func insert(_ value: [UInt8]) {
        let spent = state.withLock { state -> InsertionCredit? in
            state.values.append(value)
            state.bytes += value.count
            return state.credit.spend(givesCosts ? value.count : 0) ? state.credit.take() : nil
        }
        guard let spent else { return }
        let credit = membership.renew(spent, for: self)
        state.withLock { $0.credit.add(credit) }
    }

    package var count: Int { state.withLock { $0.values.count - $0.first } }
    package var bytes: Int { state.withLock { $0.bytes } }
    package var price: Double {
        get { state.withLock { $0.price } }
        set { state.withLock { $0.price = newValue } }
    }

    package var marginalPrice: Double { state.withLock { $0.first == $0.values.count ? .infinity : $0.price } }

    package var reclaimableBytes: Int { givesCosts ? bytes : count * membership.bytesPerEntry }

    package var holdings: (entries: Int, costs: Int) { givesCosts ? (0, bytes) : (count, 0) }

    package func discardUnusedContent() -> Int {
        unused.withLock { held in
            defer { held = 0 }; return held
        }
    }

    package func evict(bytes: Int, below price: Double) -> Int {
        var gone: [[UInt8]] = []
        let freed = state.withLock { state in
            var freed = 0
            while freed < bytes, state.first < state.values.count, state.price <= price {
                gone.append(state.values[state.first])
                state.values[state.first] = []
                state.bytes -= gone[gone.count - 1].count
                freed += givesCosts ? gone[gone.count - 1].count : membership.bytesPerEntry
                state.first += 1
            }
            if state.first * 2 > state.values.count {
                state.values.removeFirst(state.first)
                state.first = 0
            }
            return freed
        }
        withExtendedLifetime(gone) {}
        evictionHandler.withLock { $0 }?()
        return freed
    }

    /// Calls `handler` after each eviction, before the governor knows what it freed.
    package func afterEvictions(_ handler: @escaping @Sendable () -> Void) {
        evictionHandler.withLock { $0 = handler }
    }

    package func revokeInsertionCredit() -> Int { state.withLock { $0.credit.revoke() } }
}

/// A clock that stands still until it is told otherwise.
package final class ManualNanoseconds: Sendable {
    private let nanoseconds = Atomic<UInt64>(0)
    package init() {}
    package var now: UInt64 { nanoseconds.load(ordering: .relaxed) }
    package func advance(_ by: UInt64) { nanoseconds.add(by, ordering: .relaxed) }
}
