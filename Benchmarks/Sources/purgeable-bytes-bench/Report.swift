//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport

/// Prints a row and remembers whether the figure was reached.
struct Report: ~Copyable {
    private(set) var missed = 0

    mutating func row(_ what: String, _ figure: Double, _ unit: String, atMost limit: Double, note: String = "") {
        let isReached = figure <= limit
        if !isReached { missed += 1 }
        let name = what.padded(to: 44)
        let verdict = isReached ? "reached" : "MISSED"
        print("\(name) \(figure.fixed()) \(unit), at most \(limit.fixed()): \(verdict) \(note)")
    }
}
