//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport
import Foundation

/// How much memory an entry takes, measured from outside: a process of its own fills a cache with a million entries and
/// says by how much its resident set grew.
enum ResidentBytes {
    static let entries = 1_000_000

    /// Bytes of an entry, payload included, measured in a new process of this program; nil if that fails.
    static func measure(_ name: String, underChurn: Bool = false) -> Double? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--bytes-of", name] + (underChurn ? ["--churn"] : [])
        let pipe = Pipe()
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return nil }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Double(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Fills a cache and returns how much the resident set grew an entry. Keys and values exist before.
    static func fill<Cache: BenchmarkedCache>(_ type: Cache.Type) -> Double {
        let keys = (0..<entries).map { Cache.Keys.key(Requests.key($0)) }
        let values = (0..<entries).map { Cache.value(UInt64($0)) }
        let before = residentBytes()
        let cache = Cache(limit: 0)
        for index in keys.indices { cache.set(values[index], keys[index]) }
        let after = residentBytes()
        precondition(cache.get(keys[0]) != nil)
        return Double(after - before) / Double(entries)
    }

    /// Fills a cache to its limit four times over, and returns how much the resident set grew for each entry that it
    /// may hold: what a cache remembers of the evicted is in it. Only for values that live in the cache itself.
    static func churn<Cache: BenchmarkedCache>(_ type: Cache.Type) -> Double {
        let limit = entries / 4
        let keys = (0..<entries).map { Cache.Keys.key(Requests.key($0)) }
        let value = Cache.value(1)
        let before = residentBytes()
        let cache = Cache(limit: limit)
        for key in keys { cache.set(value, key) }
        let after = residentBytes()
        precondition(cache.get(keys[entries - 1]) != nil)
        return Double(after - before) / Double(limit)
    }
}
