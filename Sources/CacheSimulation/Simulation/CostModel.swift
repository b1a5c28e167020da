//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What it costs to make a value again after a miss.
public enum CostModel: String, Sendable, CaseIterable {
    /// All misses cost the same, and no policy is told anything.
    case none
    /// 1000^*u* with *u* in [0, 1) from a hash of the key: costs from 1 to 1000 that have nothing to do with size.
    case a = "A"
    /// max(1, 100 · (size / mean size)^0.8 · 10^(*u* − 0.5)): larger values cost more, within half a magnitude.
    case b = "B"
    /// The costs that the trace itself states; 1 where it states none.
    case trace

    /// The cost of each key.
    func costs(keys: [UInt64], sizes: [Int], given: [Double]) -> [Double] {
        switch self {
        case .none: return .init(repeating: 1, count: keys.count)
        case .a: return keys.map { pow(1000, Self.fraction(of: $0)) }
        case .b:
            let mean = Double(sizes.reduce(0, +)) / Double(max(1, sizes.count))
            return zip(keys, sizes).map { key, size in
                max(1, 100 * pow(Double(size) / mean, 0.8) * pow(10, Self.fraction(of: key) - 0.5))
            }
        case .trace: return given.map { $0.isNaN ? 1 : $0 }
        }
    }

    private static func fraction(of key: UInt64) -> Double {
        Double(SeededGenerator.splitMix(key ^ 0xC057) >> 11) * 0x1p-53
    }
}
