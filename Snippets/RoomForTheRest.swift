// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// A file read and a picture decoded in memory that the caches of the process have made free.
// snippet.show
import Foundation
import MemoryCaching

struct TooLarge: Error {}

// A file reader: as many bytes as the file has.
func contents(of path: String) throws -> Data {
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    return try MemoryReserve.withFree(bytes: size) { freeBytes in
        guard freeBytes >= size else { throw TooLarge() }
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }
}

// A decoder: four bytes for each pixel, whatever the file's size.
func decode(width: Int, height: Int) -> [UInt32] {
    MemoryReserve.withFree(bytes: width * height * 4) { _ in
        [UInt32](unsafeUninitializedCapacity: width * height) { pixels, count in
            pixels.initialize(repeating: 0xFF00_00FF)
            count = width * height
        }
    }
}

// snippet.hide
let text = FileManager.default.temporaryDirectory.appendingPathComponent("room-\(UUID())")
try Data(repeating: 7, count: 1 << 20).write(to: text)
let bytes = try contents(of: text.path)
try FileManager.default.removeItem(at: text)
precondition(bytes.count == 1 << 20 && decode(width: 100, height: 10).count == 1000)
print("read and decoded")
