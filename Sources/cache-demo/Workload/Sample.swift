//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// What a run looks like at one moment: counters since its start, and amounts as they are.
struct Sample: Codable, Sendable, Equatable {
    /// Seconds since the run's start.
    var time = 0.0
    var requests = 0
    var hits = 0
    /// Requests that waited for a download which another request had begun.
    var joined = 0
    var downloads = 0
    var failures = 0
    /// Values whose bytes were not those that the origin painted.
    var wrong = 0
    /// Entries that the cache knows of, and their bytes. It learns of bytes that the kernel took when it looks at them.
    var entries = 0
    var indexedBytes = 0
    /// Of these, bytes that are in memory.
    var cachedBytes = 0
    /// Bytes that the kernel may take back without asking, by the kernel's own count.
    var purgeableBytes = 0
    /// Resident memory of the run's process, in bytes.
    var residentBytes = 0
    var level = "normal"
    /// Entries that have left, by cause.
    var evictions: [String: Int] = [:]
    /// Nanoseconds of the median hit and the median download, 0 while there were none.
    var hitNanoseconds = 0
    var downloadNanoseconds = 0
    /// Bytes charged to the run's cgroup; filled in by the parent.
    var groupBytes: Int?

    var hitRate: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }

    /// Share of hits among the requests since `earlier`; nil where there were none.
    func hitRate(since earlier: Sample) -> Double? {
        requests == earlier.requests ? nil : Double(hits - earlier.hits) / Double(requests - earlier.requests)
    }
}

/// What a child tells its parent, a line of JSON each.
enum ChildReport: Codable, Sendable {
    case sample(Sample)
    /// The neighbour holds this many bytes.
    case holding(Int)
    /// Something went wrong, in words.
    case words(String)

    var line: String { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// The report that `line` holds; a line of anything else is taken for words.
    init(line: String) {
        self = (try? JSONDecoder().decode(ChildReport.self, from: Data(line.utf8))) ?? .words(line)
    }
}
