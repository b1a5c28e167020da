//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import MemoryCaching

/// Fills a cache without limits in a container, as fast as one thread can, and says how much of it can be read.
struct Fill: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Fills a cache far beyond the container it runs in.")

    @Option(help: "MiB offered.") var offered = 2048
    @Option(help: "Bytes of a value.") var size = 4096
    @Option(help: "MiB that the container may hold.") var limit = 256

    func run() throws {
        guard let container = Container(limitBytes: limit << 20) else { return print("SKIPPED: no writable cgroup") }
        defer { container.leave() }
        let cache = PurgeableCache<Int>()
        let payload = [UInt8](repeating: 3, count: size)
        let count = (offered << 20) / size
        let each = nanosecondsEach(count) { for key in 0..<count { cache.setBytes(payload, forKey: key) } }
        var readable = 0
        for key in 0..<count where cache.bytes(forKey: key) == payload { readable += 1 }
        let share = Double(readable * size) / Double(limit << 20)
        print("size \(size): \(each) ns each, \(Double(size) / each) GB/s, \(readable) readable: \(share) of the limit")
    }
}
