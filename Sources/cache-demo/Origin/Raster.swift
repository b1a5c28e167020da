//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation

/// Paints thumbnails: two colours in slanting bands under a little grain, as a 24-bit BMP that a browser shows.
///
/// The work is real, some 0.1 ms for 100 KB, and the result depends on the seed and the picture's number alone. Grain
/// goes through every byte, so that no two rows are equal and a page lost to the kernel can never look right.
enum Raster {
    /// The bytes of the whole BMP file, exactly `thumbnail.byteCount` of them.
    static func paint(_ thumbnail: Thumbnail, seed: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: thumbnail.byteCount) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            paint(thumbnail, seed: seed, into: raw)
            count = thumbnail.byteCount
        }
    }

    private static let headerSize = 54

    private static func paint(_ thumbnail: Thumbnail, seed: UInt64, into file: UnsafeMutableRawBufferPointer) {
        var random = SeededGenerator(seed: SeededGenerator.splitMix(seed) ^ thumbnail.number)
        let shape = shape(fileSize: file.count)
        writeHeader(shape, into: file)

        let first = random.next()
        let second = random.next()
        let slant = random.next()
        let (across, along) = (Int(slant & 7) + 1, Int(slant >> 8 & 7) + 1)
        var grain = random.next() | 1
        var place = headerSize
        for row in 0..<shape.height {
            for column in 0..<shape.width {
                // A triangle wave over the slanting distance blends the two colours.
                let wave = (column * across + row * along) & 511
                let blend = wave < 256 ? wave : 511 - wave
                grain ^= grain << 13
                grain ^= grain >> 7
                grain ^= grain << 17
                for channel in 0..<3 {
                    let from = Int(truncatingIfNeeded: first >> (8 * channel) & 255)
                    let to = Int(truncatingIfNeeded: second >> (8 * channel) & 255)
                    let colour = from + ((to - from) * blend) / 256
                    let noise = Int(truncatingIfNeeded: grain >> (8 * channel) & 15)
                    file[place + channel] = UInt8(truncatingIfNeeded: colour ^ noise)
                }
                place += 3
            }
            for _ in 0..<(shape.stride - shape.width * 3) {
                file[place] = UInt8(truncatingIfNeeded: grain >> 40)
                place += 1
            }
        }
        // What no whole row fills: readers of BMP skip it.
        while place < file.count {
            grain ^= grain << 13
            grain ^= grain >> 7
            grain ^= grain << 17
            file[place] = UInt8(truncatingIfNeeded: grain >> 24)
            place += 1
        }
    }

    private struct Shape {
        var width: Int
        var height: Int
        var stride: Int
    }

    /// A picture four wide for every three high that fills the file as far as whole rows can.
    private static func shape(fileSize: Int) -> Shape {
        let pixels = Double(fileSize - headerSize) / 3
        let width = max(1, Int((pixels * 4 / 3).squareRoot()))
        let stride = (width * 3 + 3) & ~3
        return Shape(width: width, height: (fileSize - headerSize) / stride, stride: stride)
    }

    private static func writeHeader(_ shape: Shape, into file: UnsafeMutableRawBufferPointer) {
        func store(_ value: Int, at offset: Int, bytes: Int) {
            for index in 0..<bytes { file[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
        }
        for index in 0..<headerSize { file[index] = 0 }
        store(0x4D42, at: 0, bytes: 2)  // "BM"
        store(file.count, at: 2, bytes: 4)
        store(headerSize, at: 10, bytes: 4)
        store(40, at: 14, bytes: 4)  // BITMAPINFOHEADER
        store(shape.width, at: 18, bytes: 4)
        store(shape.height, at: 22, bytes: 4)
        store(1, at: 26, bytes: 2)
        store(24, at: 28, bytes: 2)
        store(shape.stride * shape.height, at: 34, bytes: 4)
    }
}
