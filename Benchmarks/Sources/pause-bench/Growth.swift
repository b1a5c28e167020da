//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import MemoryCaching

/// Insertions one by one into a cache without limits, and into a dictionary.
struct Growth: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The longest insertion while a cache grows.")

    @Option(help: "Entries.")
    var entries = 16_000_000

    @Flag(help: "Let the cache take part in memory pressure, as caches do unless told otherwise.")
    var pressure = false

    func run() {
        PauseBench.heading()
        var control = Pauses()
        let memory = UnsafeMutablePointer<Int>.allocate(capacity: entries * 8)
        control.resume()
        for index in 0..<entries {
            memory[index &* 8] = index
            control.call()
        }
        memory.deallocate()
        PauseBench.report("control", control)

        let cache = MemoryCache<Int, Int>(options: .init(evictsUnderMemoryPressure: pressure))
        var pauses = Pauses()
        pauses.resume()
        for index in 0..<entries {
            cache.setValue(index, forKey: index)
            pauses.call()
        }
        PauseBench.report("MemoryCache", pauses)
        cache.removeAll()

        var dictionary: [Int: Int] = [:]
        var other = Pauses()
        other.resume()
        for index in 0..<entries {
            dictionary[index] = index
            other.call()
        }
        PauseBench.report("Dictionary", other)
    }
}
