//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A trace made ready to be simulated: keys numbered densely from 0 in order of first appearance, so that policies
/// keep their state in arrays; each key with one size and one cost.
package struct IndexedTrace: Sendable {
    /// The trace's name.
    package let name: String
    /// The number of the key of each request.
    package let requests: [UInt32]
    /// The keys by number.
    package let keys: [UInt64]
    /// Bytes by number: the first size known of the key; 1 throughout for a trace without sizes.
    package let sizes: [Int]
    /// What each key's value costs to make, by number; 1 throughout without a cost model.
    package let costs: [Double]
    /// Whether limits are in bytes.
    package let isSized: Bool
    /// How long a key is as text, on the mean; 0 where keys are numbers.
    let keyLength: Double
    /// Whether the costs say something.
    package let hasCosts: Bool

    /// Numbers the keys of `trace` and gives each its cost by `model`.
    ///
    /// - Complexity: O(*n*) in its requests.
    package init(_ trace: Trace, costs model: CostModel = .none) {
        var numbers: [UInt64: UInt32] = [:]
        var requests: [UInt32] = []
        var keys: [UInt64] = []
        var sizes: [Int] = []
        var given: [Double] = []
        requests.reserveCapacity(trace.count)
        for request in trace {
            if let number = numbers[request.key] {
                requests.append(number)
                if sizes[Int(number)] == 0 { sizes[Int(number)] = request.size }
                continue
            }
            let number = UInt32(keys.count)
            numbers[request.key] = number
            requests.append(number)
            keys.append(request.key)
            sizes.append(request.size)
            given.append(request.cost ?? .nan)
        }
        name = trace.name
        isSized = trace.isSized
        keyLength = trace.interpretation?.keyLength ?? 0
        self.requests = requests
        self.keys = keys
        // A size that no request of the key says.
        for index in sizes.indices where sizes[index] == 0 { sizes[index] = 1 }
        self.sizes = sizes
        hasCosts = model == .trace ? trace.hasCosts : model != .none
        costs = model.costs(keys: keys, sizes: sizes, given: given)
    }

    /// How much a cache that holds everything would hold: keys, or bytes for a sized trace.
    package var footprint: Int { sizes.reduce(0, +) }

    /// For each request, when its key comes next: the position, or `Int.max` for never.
    package func nextPositions() -> [Int] {
        var next = [Int](repeating: .max, count: requests.count)
        var later = [Int](repeating: .max, count: keys.count)
        for position in requests.indices.reversed() {
            let number = Int(requests[position])
            next[position] = later[number]
            later[number] = position
        }
        return next
    }
}
