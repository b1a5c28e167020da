//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation

/// Seconds that `body` takes.
public func seconds(_ body: () -> Void) -> Double { ContinuousClock().measure(body) / .seconds(1) }

/// Nanoseconds that `body` takes for each of `operations`.
public func nanoseconds(per operations: Int, _ body: () -> Void) -> Double {
    ContinuousClock().measure(body) / .nanoseconds(1) / Double(operations)
}

extension [Double] {
    /// The middle one; of an even number, the upper of the two.
    public var median: Double { sorted()[count / 2] }
}

extension Double {
    /// With so many digits after the point, all of them shown.
    public func fixed(_ places: Int = 2) -> String { Quantity.fixed(self, decimals: places) }
}

extension String {
    /// With spaces before it up to `width`: figures one below the other.
    public func indented(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }

    /// With spaces after it up to `width`.
    public func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
