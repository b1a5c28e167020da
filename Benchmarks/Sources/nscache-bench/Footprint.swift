//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport
import Foundation
import FoundationCaching

/// Bytes of an empty cache and of an entry beside key and object; in a process of its own, so that nothing freed before
/// is used again.
func measureFootprint<Cache: ObjectCache<NSNumber, NSNumber>>(_ make: () -> Cache) {
    let count = 1_000_000
    let keys = (0..<count).map { NSNumber(value: $0) }
    var caches: [Cache] = []
    caches.reserveCapacity(100_000)
    let beforeCaches = residentBytes()
    for _ in 0..<100_000 { caches.append(make()) }
    let empty = (residentBytes() - beforeCaches) / 100_000
    let cache = make()
    let before = residentBytes()
    for key in keys { cache.setObject(key, forKey: key, cost: 0) }
    let entry = (residentBytes() - before) / count
    withExtendedLifetime((caches, cache)) {}
    print("\(empty) \(entry)")
}

func compareFootprints() throws {
    func footprint(_ name: String) throws -> [Int] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["footprint", name]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    }
    let (theirs, ours) = (try footprint("theirs"), try footprint("ours"))
    for (index, name) in ["bytes of an empty cache", "bytes an entry, of 1,000,000"].enumerated() {
        print(
            name.padding(toLength: 38, withPad: " ", startingAt: 0),
            String(
                format: "%9d    %9d    %8.2f",
                theirs[index],
                ours[index],
                Double(ours[index]) / Double(theirs[index])
            )
        )
    }
}
