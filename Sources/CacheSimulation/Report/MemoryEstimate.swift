//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How much memory a `MemoryCache` takes for a number of entries beyond their values.
///
/// Measured on 22 November 2026 as resident memory of a process with a `MemoryCache<String, [UInt8]>`, x86-64, glibc
/// 2.36, full and evicting: 122 to 125 bytes an entry for values of 100 and 1,000 bytes and keys of 8, and 201 to 205,
/// 218 to 222 and 282 to 286 for keys of 20, 40 and 100. The array's header and the allocator's rounding are in it.
enum MemoryEstimate {
    /// An entry in the table, its share of what is remembered of evicted ones, and the header of an array.
    private static let bytesPerEntry = 125.0
    /// A text of at most so many bytes is kept inside the entry.
    private static let longestInlineKey = 15.0
    /// The header and the rounding of a text that is not.
    private static let bytesPerLongKey = 60.0

    /// Bytes beyond the values.
    static func overhead(entries: Int, keyLength: Double) -> Int {
        let key = keyLength > longestInlineKey ? keyLength + bytesPerLongKey : 0
        return Int((Double(entries) * (bytesPerEntry + key)).rounded())
    }
}
