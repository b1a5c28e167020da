//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore

extension ByteBuffer {
    /// Adds commands the way servers read them: arrays of strings. They are written where they are to lie, in one step,
    /// because a buffer looks each time whether there is room and whether it is shared.
    mutating func writeCommands(_ commands: [[[UInt8]]]) {
        // A length takes 20 digits at most, and stands between a sign and the end of a line.
        let size = commands.reduce(0) { $1.reduce($0 + 23) { $0 + 25 + $1.count } }
        writeWithUnsafeMutableBytes(minimumWritableBytes: size) { place in
            var writer = RESPWriter(place: place)
            for command in commands { writer.write(command) }
            return writer.count
        }
    }
}

/// Writes commands to a place that has room for them.
private struct RESPWriter {
    let place: UnsafeMutableRawBufferPointer
    var count = 0

    mutating func write(_ words: [[UInt8]]) {
        write(UInt8(ascii: "*"), words.count)
        for word in words {
            write(UInt8(ascii: "$"), word.count)
            word.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: place[count...]).copyMemory(from: $0) }
            count += word.count
            endLine()
        }
    }

    private mutating func write(_ type: UInt8, _ number: Int) {
        put(type)
        var power = 1
        while number / power >= 10 { power *= 10 }
        while power > 0 {
            put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / power % 10))
            power /= 10
        }
        endLine()
    }

    private mutating func endLine() {
        put(13)
        put(10)
    }

    private mutating func put(_ byte: UInt8) {
        place[count] = byte
        count += 1
    }
}
#endif
