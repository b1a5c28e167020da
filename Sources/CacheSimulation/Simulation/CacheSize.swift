//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// How large a simulated cache is: a share of all that a trace asks for, or an amount.
public enum CacheSize: Sendable, Equatable, CustomStringConvertible {
    /// A share of the unique keys, or of their bytes in a sized trace; 0.01 is 1 %.
    case share(Double)
    /// So many bytes.
    case bytes(Int)
    /// So many entries; bytes in a sized trace.
    case amount(Int)

    /// Reads `1%`, `64MB`, `64MiB` or `1000`; nil for anything else, and for nothing or less.
    ///
    /// kB, MB, GB and TB count in thousands; KiB, MiB, GiB and TiB in 1,024.
    public init?(_ text: String) {
        let split = text.firstIndex { !($0.isASCII && $0.isNumber) && $0 != "." } ?? text.endIndex
        guard let number = Double(text[..<split]), number > 0 else { return nil }
        let unit = text[split...].trimmingPrefix { $0 == " " }.lowercased()
        switch unit {
        case "%": self = .share(number / 100)
        case "":
            guard let count = Int(exactly: number) else { return nil }
            self = .amount(count)
        default:
            guard let factor = Self.units[unit], number * factor >= 1, number * factor < 0x1p62 else { return nil }
            self = .bytes(Int(number * factor))
        }
    }

    private static let units: [String: Double] = [
        "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
    ]

    /// The capacity for a trace, at least 1; nil where bytes are asked of a trace without sizes.
    func capacity(for trace: IndexedTrace) -> Int? {
        switch self {
        case .share(let share): max(1, Int((Double(trace.footprint) * share).rounded()))
        case .bytes(let bytes): trace.isSized ? bytes : nil
        case .amount(let count): max(1, count)
        }
    }

    /// As it was written, or nearly.
    public var description: String {
        switch self {
        case .share(let share): "\(Quantity.plain(share * 100))%"
        case .bytes(let bytes): Quantity.bytes(bytes)
        case .amount(let count): count.grouped
        }
    }
}
