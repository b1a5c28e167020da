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

/// The size from which on more memory buys markedly less.
///
/// It is the point of a miss-ratio curve that lies furthest below the straight line between its ends, with sizes on a
/// logarithmic axis: there, each doubling to the left bought more than each doubling to the right.
///
/// - SeeAlso: Satopää, Albrecht, Irwin, Raghavan, "Finding a 'Kneedle' in a Haystack" (ICDCS Workshops 2011).
enum Knee {
    /// How far below the line a point must lie, of the curve's height: nearer ones are as good as on it.
    private static let leastDepth = 0.1
    /// A curve less high than this many points of misses is flat.
    static let leastHeight = 0.02
    /// The curve has reached its plateau where all further memory saves less than this: a point of misses, the standard
    /// error of a miss ratio over 2,500 requests at most, so that a smaller saving is chance in many logs.
    static let plateauHeight = 0.01
    /// With fewer requests the standard error of a miss ratio, at most 0.5/√n, is more than ``leastHeight``.
    static let leastRequests = 625

    /// The sizes among which the knee is looked for, the smallest first: from a 1,024th of `footprint` in doublings,
    /// and the last two doublings in quarters, because there lie the limits that hold nearly all.
    static func sizes(upTo footprint: Int) -> [Int] {
        let steps = (2...10).reversed().map(Double.init) + (0..<8).reversed().map { Double($0) / 4 }
        let sizes = steps.map { Int(Double(footprint) / exp2($0)) }
        return zip(sizes, [0] + sizes).compactMap { $0 > $1 ? $0 : nil }
    }

    /// The index of the knee in `values`, which belong to `sizes`, the smallest first; nil where there is none.
    static func index(of values: [Double], at sizes: [Int]) -> Int? {
        guard let first = values.first, let last = values.last, values.count > 2, first - last >= leastHeight else {
            return nil
        }
        let depths = values.indices.map { index in
            1 - doublings(from: 0, to: index, of: sizes) / doublings(from: 0, to: values.count - 1, of: sizes)
                - (values[index] - last) / (first - last)
        }
        guard let deepest = depths.indices.max(by: { depths[$0] < depths[$1] }), depths[deepest] >= leastDepth else {
            return nil
        }
        return deepest
    }

    /// How often the one size is doubled to become the other.
    static func doublings(from low: Int, to high: Int, of sizes: [Int]) -> Double {
        log2(Double(sizes[high]) / Double(sizes[low]))
    }

    /// The first of `values` that is less than ``plateauHeight`` above the last; nil where that is the last itself.
    static func plateau(of values: [Double]) -> Int? {
        guard let last = values.last, let first = values.firstIndex(where: { $0 < last + plateauHeight }),
            first < values.count - 1
        else { return nil }
        return first
    }
}
