//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#endif

/// How large the values are: "200" for all of one size; "200-65536" for sizes mixed between the two, as many of each
/// order of magnitude; "200,65536" for one size after the other, as many bytes of each: then what the first has left
/// behind in the allocator's heap is of no use to the second.
enum Sizes {
    case one(Int)
    case mixed(ClosedRange<Int>)
    case phases([Int])

    init?(_ text: String) {
        if let bounds = Self.numbers(text, separator: "-"), bounds.count == 2, bounds[0] <= bounds[1] {
            self = .mixed(bounds[0]...bounds[1])
        } else if let sizes = Self.numbers(text, separator: ",") {
            self = sizes.count == 1 ? .one(sizes[0]) : .phases(sizes)
        } else {
            return nil
        }
    }

    private static func numbers(_ text: String, separator: Character) -> [Int]? {
        let numbers = text.split(separator: separator).map { Int($0) ?? 0 }
        return numbers.isEmpty || numbers.contains { $0 <= 0 } ? nil : numbers
    }

    /// How many values make up `bytes`.
    func count(in bytes: Int) -> Int {
        switch self {
        case .one(let size): bytes / size
        case .mixed(let range):
            // The mean of log-uniform sizes.
            range.count == 1
                ? bytes / range.lowerBound
                : Int(
                    Double(bytes) * log(Double(range.upperBound) / Double(range.lowerBound)) / Double(range.count - 1)
                )
        case .phases(let sizes): sizes.reduce(0) { $0 + bytes / sizes.count / $1 }
        }
    }

    /// The size of the value of `key`, one of 0..<`count`.
    func size(of key: Int, among count: Int) -> Int {
        switch self {
        case .one(let size): return size
        case .mixed(let range):
            let random = Double((UInt64(key) &* 0x9E37_79B9_7F4A_7C15) >> 11) * 0x1p-53
            return Int(Double(range.lowerBound) * pow(Double(range.upperBound) / Double(range.lowerBound), random))
        case .phases(let sizes):
            let shares = sizes.map { 1 / Double($0) }
            var rest = Double(key) / Double(count) * shares.reduce(0, +)
            for (size, share) in zip(sizes, shares) {
                if rest < share { return size }
                rest -= share
            }
            return sizes.last!
        }
    }
}
