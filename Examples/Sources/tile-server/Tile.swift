//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A square of the Mandelbrot set: something that takes milliseconds to make and kilobytes to keep.
struct Tile: Hashable, Sendable {
    /// 2^zoom tiles cover the whole, from left to right and from top to bottom.
    var zoom: Int
    var x: Int
    var y: Int

    static let side = 128
    private static let iterations = 600

    /// Whether there is such a tile.
    var exists: Bool { (0...24).contains(zoom) && (0..<1 << zoom).contains(x) && (0..<1 << zoom).contains(y) }

    /// The picture as a BMP file with a palette: 17,462 bytes.
    func render() -> [UInt8] {
        var file = Self.header
        file.reserveCapacity(Self.header.count + Self.side * Self.side)
        let size = 3.0 / Double(1 << zoom)
        let (left, top) = (-2.25 + Double(x) * size, -1.5 + Double(y) * size)
        for row in (0..<Self.side).reversed() {
            let imaginary = top + (Double(row) + 0.5) / Double(Self.side) * size
            for column in 0..<Self.side {
                let real = left + (Double(column) + 0.5) / Double(Self.side) * size
                file.append(Self.escape(real, imaginary))
            }
        }
        return file
    }

    /// After how many steps z ← z² + c leaves, as a palette entry; 0 if it stays.
    private static func escape(_ real: Double, _ imaginary: Double) -> UInt8 {
        var (x, y) = (0.0, 0.0)
        for step in 1...iterations {
            (x, y) = (x * x - y * y + real, 2 * x * y + imaginary)
            if x * x + y * y > 4 { return UInt8(1 + step % 255) }
        }
        return 0
    }

    private static let header: [UInt8] = {
        func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 0xFF) } }
        let offset = 54 + 256 * 4
        var bytes: [UInt8] = Array("BM".utf8) + little(offset + side * side, 4) + little(0, 4) + little(offset, 4)
        bytes += little(40, 4) + little(side, 4) + little(side, 4) + little(1, 2) + little(8, 2)
        bytes += little(0, 4) + little(side * side, 4) + little(2835, 4) + little(2835, 4) + little(256, 4)
        bytes += little(0, 4)
        for index in 0..<256 {
            // Dark blue through orange to white, and round again.
            bytes += index == 0 ? [0, 0, 0, 0] : [UInt8(index * 7 & 0xFF), UInt8(index * 3 & 0xFF), UInt8(index), 0]
        }
        return bytes
    }()
}
