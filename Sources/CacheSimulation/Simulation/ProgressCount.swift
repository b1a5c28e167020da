//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// How much of a long run is done, counted from any thread.
final class ProgressCount: Sendable {
    private let done = Atomic<Int>(0)
    private let total: Int
    private let report: @Sendable (Double) -> Void

    init(total: Int, report: @escaping @Sendable (Double) -> Void) {
        self.total = max(1, total)
        self.report = report
    }

    func add(_ count: Int) {
        let sum = done.add(count, ordering: .relaxed).newValue
        report(Double(sum) / Double(total))
    }
}
