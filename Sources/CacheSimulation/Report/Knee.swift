//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

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
    /// With fewer requests the standard error of a miss ratio, at most 0.5/√n, is more than ``leastHeight``.
    static let leastRequests = 625

    /// The index of the knee in `values`, which belong to sizes in equal logarithmic steps; nil where there is none.
    static func index(of values: [Double]) -> Int? {
        guard let first = values.first, let last = values.last, values.count > 2, first - last >= leastHeight else {
            return nil
        }
        let depths = values.indices.map { index in
            let line = 1 - Double(index) / Double(values.count - 1)
            return line - (values[index] - last) / (first - last)
        }
        guard let deepest = depths.indices.max(by: { depths[$0] < depths[$1] }), depths[deepest] >= leastDepth else {
            return nil
        }
        return deepest
    }
}
