//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import MemoryCaching

/// The end of the only cache of a process: the watching of memory ends with it.
struct Drop: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "How long dropping a process's only cache takes.")

    @Option(help: "Caches, one after the other.")
    var caches = 101

    func run() {
        var times: [Double] = []
        for _ in 0..<caches {
            var cache: MemoryCache<Int, Int>? = MemoryCache()
            cache?.setValue(1, forKey: 1)
            let begun = nanoseconds()
            cache = nil
            times.append(Double(nanoseconds() - begun) / 1e6)
        }
        print("median \(times.median.fixed(3)) ms, worst \((times.max() ?? 0).fixed(3)) ms")
    }
}
