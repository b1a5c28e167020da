//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import MemoryCaching

/// Replacing small values of a large purgeable cache, whose segments are compacted meanwhile.
struct Replacement: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The longest replacement in a large PurgeableCache.")

    @Option(help: "Items.")
    var items = 5_000_000

    @Option(help: "Bytes of each.")
    var bytes = 100

    @Option(help: "Replacements.")
    var replacements = 5_000_000

    func run() {
        PauseBench.heading()
        let cache = PurgeableCache<Int>()
        let value = [UInt8](repeating: 7, count: bytes)
        var pauses = Pauses()
        pauses.resume()
        for key in 0..<items {
            cache.setBytes(value, forKey: key)
            pauses.call()
        }
        PauseBench.report("setBytes, new", pauses)
        var random = SystemRandomNumberGenerator()
        pauses = Pauses()
        pauses.resume()
        for _ in 0..<replacements {
            cache.setBytes(value, forKey: Int(truncatingIfNeeded: random.next() >> 1) % items)
            pauses.call()
        }
        PauseBench.report("setBytes, replaced", pauses)
    }
}
