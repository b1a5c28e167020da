//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// How many values a ``PurgeableStore`` holds, how many bytes they have, and how many of both it may hold.
///
/// Room is drawn before a value is published and given back after a value has left the index, both under the lock of
/// the value's shard. So what is published never exceeds a limit, and a thread that waits holds no room: whatever is
/// drawn belongs to a value that can be evicted, or to a critical section that is about to end.
struct PurgeableRoom: ~Copyable {
    /// One quantity and its limit, in one line of the processor's cache.
    struct Quantity: ~Copyable {
        private let drawn = Atomic<Int>(0)
        /// 0 is no limit.
        private let most: Atomic<Int>

        init(limit: Int) { most = Atomic(max(0, limit)) }

        /// The limit. Who sets it evicts until ``excess`` is 0.
        var limit: Int {
            get { most.load(ordering: .relaxed) }
            nonmutating set { most.store(max(0, newValue), ordering: .sequentiallyConsistent) }
        }

        /// What is published is as much at most. What is drawn can be more for a moment, before a drawer that passed a
        /// setter of the limit gives back.
        var held: Int {
            let limit = most.load(ordering: .relaxed)
            let amount = max(0, drawn.load(ordering: .relaxed))
            return limit > 0 ? min(amount, limit) : amount
        }

        /// What is drawn beyond the limit.
        var excess: Int {
            let limit = most.load(ordering: .sequentiallyConsistent)
            return limit > 0 ? max(0, drawn.load(ordering: .sequentiallyConsistent) - limit) : 0
        }

        /// Whether more is drawn than `amount`.
        func exceeds(_ amount: Int) -> Bool { drawn.load(ordering: .relaxed) > max(0, amount) }

        /// Draws `amount`, unless that would exceed the limit.
        func draw(_ amount: Int) -> Bool {
            let limit = most.load(ordering: .relaxed)
            if limit > 0 {
                var now = drawn.load(ordering: .relaxed)
                while true {
                    guard amount <= limit, now <= limit - amount else { return false }
                    let (done, found) = drawn.weakCompareExchange(
                        expected: now,
                        desired: now + amount,
                        successOrdering: .sequentiallyConsistent,
                        failureOrdering: .relaxed
                    )
                    if done { break }
                    now = found
                }
            } else {
                drawn.wrappingAdd(amount, ordering: .sequentiallyConsistent)
            }
            // The limit once more: either a setter sees what has been drawn and evicts, or the drawer sees what has
            // been set. Both store first and load afterwards, sequentially consistent.
            guard most.load(ordering: .sequentiallyConsistent) != limit, excess > 0 else { return true }
            give(back: amount)
            return false
        }

        func give(back amount: Int) { drawn.wrappingSubtract(amount, ordering: .relaxed) }
    }

    let count: Quantity
    let bytes: Quantity

    init(countLimit: Int, totalCostLimit: Int) {
        count = Quantity(limit: countLimit)
        bytes = Quantity(limit: totalCostLimit)
    }

    /// Draws room for `count` values with `bytes` bytes; if there is none, draws nothing and says what lacks.
    func draw(count amount: Int, bytes byteCount: Int) -> RemovalCause? {
        if amount > 0, !count.draw(amount) { return .countLimit }
        if byteCount > 0, !bytes.draw(byteCount) {
            count.give(back: amount)
            return .costLimit
        }
        return nil
    }

    func give(backCount amount: Int, bytes byteCount: Int) {
        if amount != 0 { count.give(back: amount) }
        if byteCount != 0 { bytes.give(back: byteCount) }
    }
}
