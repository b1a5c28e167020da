//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

/// Caches filled with more than setrlimit(2) allows: where the allocator is refused memory, Swift stops the process.
@Suite(.serialized) struct ResourceLimitFillTests {
    /// With two threads, what is evicted lies free in two arenas. When all of it counted as usable, 3 of 5 such
    /// processes that inserted 768 MiB were refused memory.
    ///
    /// A cache of purgeable bytes used to fill all that may be mapped, which the kernel takes back for no such limit, and
    /// refused newcomers then: the next allocation was refused memory.
    @Test(arguments: [
        "-v 700000 memory 4096 1", "-d 200000 memory 4096 1", "-d 262144 memory 300 2",
        "-v 500000 purgeable 1000 1", "-d 262144 purgeable 1000 2", "-v 500000 purgeable 100000 2",
        "-v 500000 purgeable 300-65536 2 burst=32",
    ])
    func aLimitOfTheProcessIsALimit(words: String) throws {
        let words = words.split(separator: " ").map(String.init)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", #"ulimit "$0" "$1" && shift && exec "$@""#, words[0], words[1]]
        process.arguments! += [PressureFillTests.tool, words[2], words[3], words[0] == "-v" ? "800" : "400"]
        process.arguments! += words[4...]
        let output = Pipe()
        process.standardOutput = output
        try failingWhenStuck("a fill under \(words)", seconds: 300) {
            try process.run()
            process.waitUntilExit()
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationStatus == 0, "\(text)")
        let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
        #expect(report.wrong == 0 && report.limit == (Int(words[1]) ?? 0) << 10, "\(text)")
        #expect(report.readable > 40 << 20, "\(text)")
    }

    struct Report: Decodable {
        var readable: Int
        var wrong: Int
        var limit: Int
    }
}
