//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Costs may be anything up to `Int.max`, so sums of what is evicted for them end there.
extension Int {
    /// The sum, `Int.max` or `Int.min` where it would be beyond.
    func saturatingAdding(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

extension Atomic where Value == Int {
    /// Adds `amount`; the sum saturates.
    func saturatingAdd(_ amount: Int) {
        var sum = load(ordering: .relaxed)
        while true {
            let (exchanged, now) = weakCompareExchange(
                expected: sum,
                desired: sum.saturatingAdding(amount),
                ordering: .relaxed
            )
            if exchanged { return }
            sum = now
        }
    }
}
