//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Sealed segments of one stream, oldest first.
///
/// Segments leave from anywhere: mostly from the front, sometimes from the middle when they have become sparse. Those
/// are left as holes (-1) and squeezed out when half of the queue is holes, so that leaving is O(1) amortised except
/// for the search, which starts at the front, where it mostly ends.
struct SegmentQueue {
    private(set) var numbers: [Int] = []
    private var first = 0
    private(set) var count = 0

    mutating func append(_ number: Int) {
        numbers.append(number)
        count += 1
    }

    mutating func retired(_ number: Int) {
        guard let index = numbers[first...].firstIndex(of: number) else { return }
        numbers[index] = -1
        count -= 1
        while first < numbers.count, numbers[first] < 0 { first += 1 }
        if numbers.count > 2 * count + 16 {
            numbers = numbers[first...].filter { $0 >= 0 }
            first = 0
        }
    }

    /// The segments, oldest first.
    var all: [Int] { numbers[first...].filter { $0 >= 0 } }
}
