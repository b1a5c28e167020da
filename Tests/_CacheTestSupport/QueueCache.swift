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

        mutating func dropFirst() -> [UInt8]? {
            guard first < values.count else { return nil }
            let value = values[first]
            values[first] = []
            bytes -= value.count
            first += 1
            if first * 2 > values.count {
                values.removeFirst(first)
                first = 0
            }
            return value
        }
    }

    private let state: Mutex<State>
    package let membership: PressureMembership
    private let costPercent: Int
    private var givesCosts: Bool { costPercent > 0 }
    private let unused = Mutex(0)
    private let evictionHandler = Mutex<(@Sendable () -> Void)?>(nil)

    /// A cache whose values have so many hundredths of their bytes as a cost; none where that is 0.
    package init(governor: MemoryGovernor, price: Double = 1, costPercent: Int = 100) {
        membership = PressureMembership(governor: governor)
        state = Mutex(State(price: price))
        self.costPercent = costPercent
    }

    /// Inserts `value`, in place of the oldest one if `isReplacement`.
    package func insert(_ value: [UInt8], isReplacement: Bool = false) {
        let spent = state.withLock { state -> InsertionCredit? in
            if isReplacement, let old = state.dropFirst() { state.credit.release(cost(old.count)) }
            state.values.append(value)
            state.bytes += value.count
            return state.credit.spend(cost(value.count)) ? state.credit.take() : nil
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

    private func cost(_ bytes: Int) -> Int { bytes * costPercent / 100 }

    package var reclaimableBytes: Int { givesCosts ? cost(bytes) : count * membership.bytesPerEntry }

    package var holdings: (entries: Int, costs: Int) { givesCosts ? (0, cost(bytes)) : (count, 0) }

    package func discardUnusedContent() -> Int {
        unused.withLock { held in
            defer { held = 0 }; return held
        }
    }

    package func evict(bytes: Int, below price: Double) -> Int {
        var gone: [[UInt8]] = []
        let freed = state.withLock { state in
            var freed = 0
            while freed < bytes, state.price <= price, let value = state.dropFirst() {
                gone.append(value)
                freed += givesCosts ? cost(value.count) : membership.bytesPerEntry
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
