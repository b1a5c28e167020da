//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import MemoryCaching
import MemoryPressure

/// Fills a cache without limits in a container, as fast as one thread can, and says how much of it can be read.
struct Fill: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Fills a cache far beyond the container it runs in.")

    @Option(help: "MiB offered.") var offered = 2048
    @Option(help: "Bytes of a value.") var size = 4096

    func run() {
        let cache = PurgeableCache<Int>()
        let payload = [UInt8](repeating: 3, count: size)
        let count = (offered << 20) / size
        let each = nanoseconds(per: count) { for key in 0..<count { cache.setBytes(payload, forKey: key) } }
        var readable = 0
        for key in 0..<count where cache.bytes(forKey: key) == payload { readable += 1 }
        let share = MemoryBudget.current().limitBytes.map { "\(Double(readable * size) / Double($0))" } ?? "unknown"
        print("size \(size), in \(Self.limitInWords): \(each) ns each, \(Double(size) / each) GB/s")
        print("\(readable) readable: \(share) of the limit")
    }

    /// What this process may hold, as the library reads it.
    static var limitInWords: String {
        MemoryBudget.current().limitBytes.map { "\($0 >> 20) MiB" } ?? "memory without a limit"
    }
}
