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

/// Ranks 1 to `count` with probability proportional to 1 / rank^exponent, in constant time and without a table.
///
/// - SeeAlso: Hörmann, Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions"
///   (ACM TOMACS 6, 1996).
public struct ZipfDistribution: Sendable {
    private let count: Double
    private let exponent: Double
    private let integralOfFirst: Double
    private let integralOfLast: Double
    private let squeeze: Double

    /// A distribution over `count` ranks. A count below 1 is taken as 1, an exponent below 0 as 0, which is uniform.
    ///
    /// - Precondition: `exponent` is finite.
    public init(count: Int, exponent: Double) {
        precondition(exponent.isFinite, "the exponent of a Zipf distribution must be finite, not \(exponent)")
        let exponent = Swift.max(0, exponent)
        self.count = Double(Swift.max(1, count))
        self.exponent = exponent
        integralOfFirst = Self.integral(1.5, exponent) - 1
        integralOfLast = Self.integral(self.count + 0.5, exponent)
        squeeze = 2 - Self.inverse(Self.integral(2.5, exponent) - Self.weight(2, exponent), exponent)
    }

    /// A rank, from 1.
    public func rank(using generator: inout some RandomNumberGenerator) -> Int {
        while true {
            let u = integralOfLast + generator.fraction() * (integralOfFirst - integralOfLast)
            let x = Self.inverse(u, exponent)
            let rank = Swift.min(Swift.max(1, (x + 0.5).rounded(.down)), count)
            if rank - x <= squeeze || u >= Self.integral(rank + 0.5, exponent) - Self.weight(rank, exponent) {
                return Int(rank)
            }
        }
    }

    private static func weight(_ x: Double, _ exponent: Double) -> Double { exp(-exponent * log(x)) }

    /// (x^(1-s) - 1) / (1 - s), which is log x at s = 1.
    private static func integral(_ x: Double, _ exponent: Double) -> Double {
        let logarithm = log(x)
        let t = (1 - exponent) * logarithm
        return abs(t) > 1e-8 ? expm1(t) / (1 - exponent) : logarithm * (1 + t / 2)
    }

    private static func inverse(_ y: Double, _ exponent: Double) -> Double {
        let t = Swift.max(-1, y * (1 - exponent))
        return abs(t) > 1e-8 ? exp(log1p(t) / (1 - exponent)) : exp(y * (1 - t / 2))
    }
}
