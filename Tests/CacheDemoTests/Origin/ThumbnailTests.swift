//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import cache_demo

@Suite struct ThumbnailTests {
    @Test(arguments: [2_000, 2_001, 4_096, 65_537, 200_000])
    func `a picture has exactly the bytes that its URL says, and is a BMP`(byteCount: Int) {
        let bytes = Raster.paint(Thumbnail(number: 7, byteCount: byteCount), seed: 42)
        #expect(bytes.count == byteCount)
        func field(_ offset: Int, _ count: Int) -> Int {
            bytes[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        #expect(bytes.prefix(2) == [0x42, 0x4D])
        #expect(field(2, 4) == byteCount)
        let (width, height) = (field(18, 4), field(22, 4))
        let stride = (width * 3 + 3) & ~3
        #expect(field(28, 2) == 24)
        #expect(54 + stride * height <= byteCount)
        #expect(54 + stride * (height + 1) > byteCount, "as many rows as fit")
    }

    @Test func `the same seed paints the same bytes, another seed or number others`() {
        let thumbnail = Thumbnail(number: 3, byteCount: 10_000)
        #expect(Raster.paint(thumbnail, seed: 1) == Raster.paint(thumbnail, seed: 1))
        #expect(Raster.paint(thumbnail, seed: 1) != Raster.paint(thumbnail, seed: 2))
        #expect(Raster.paint(thumbnail, seed: 1) != Raster.paint(Thumbnail(number: 4, byteCount: 10_000), seed: 1))
    }

    @Test func `no page of a picture could be taken for one that the kernel emptied`() {
        let bytes = Raster.paint(Thumbnail(number: 11, byteCount: 200_000), seed: 42)
        for page in stride(from: 0, to: bytes.count - 4095, by: 4096) {
            #expect(bytes[page..<(page + 4096)].contains { $0 != 0 })
        }
    }

    @Test func `every single changed byte changes the digest`() {
        let bytes = Raster.paint(Thumbnail(number: 5, byteCount: 2_003), seed: 9)
        let right = Digest.of(bytes)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(Digest.of(changed) != right, "byte \(index)")
        }
    }

    @Test func `a picture's path names it, and no other path does`() {
        let thumbnail = Thumbnail(number: .max, byteCount: 123_456)
        #expect(Thumbnail(path: thumbnail.path) == thumbnail)
        let others = [
            "/", "/thumbnails/1-2000", "/thumbnails/1.bmp", "/thumbnails/-1-2000.bmp", "/thumbnails/1-1999.bmp",
            "/thumbnails/1-200001.bmp", "/thumbnails/1-2000-3.bmp", "/pictures/1-2000.bmp", "/thumbnails/.bmp",
        ]
        for path in others { #expect(Thumbnail(path: path) == nil, "\(path)") }
    }

    @Test func `sizes of a catalogue fill the range that the origin serves`() {
        let sizes = (0..<10_000).map { Thumbnail(number: $0, seed: 42).byteCount }
        #expect(sizes.allSatisfy { Thumbnail.servedSizes.contains($0) })
        let mean = Double(sizes.reduce(0, +)) / Double(sizes.count)
        // Uniform: the mean of ten thousand has a standard deviation of 572.
        #expect(abs(mean - 101_000) < 3_000)
    }
}
