//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

@testable import cache_demo

@Suite struct RequestStreamTests {
    @Test func `the same seed asks for the same pictures`() {
        func stream(_ seed: UInt64) -> RequestStream { .zipf(count: 1_000, catalogue: 100, exponent: 0.9, seed: seed) }
        #expect(stream(42) == stream(42))
        #expect(stream(42) != stream(43))
    }

    @Test func `the most popular picture has the share that its rank has by Zipf`() {
        let stream = RequestStream.zipf(count: 100_000, catalogue: 1_000, exponent: 1, seed: 42)
        let counts = stream.thumbnails.reduce(into: [Thumbnail: Int]()) { $0[$1, default: 0] += 1 }
        let share = Double(counts.values.max() ?? 0) / 100_000
        // 1 / (1 + 1/2 + … + 1/1000) = 0.1336, with a standard deviation of 0.0011.
        #expect(abs(share - 0.1336) < 0.006)
    }

    @Test func `what arrives in a child is what was sent`() {
        let stream = RequestStream.zipf(count: 500, catalogue: 50, exponent: 0.5, seed: 7)
        #expect(stream.wire.count == 500 * RequestStream.recordSize)
        #expect(stream.wire.withUnsafeBytes { RequestStream(wire: $0) } == stream)
    }

    @Test func `a trace's keys keep the size they had first, within what the origin serves`() throws {
        let path = try Self.write([(1, 50_000), (2, 10), (1, 90_000), (3, 4_000_000)])
        defer { try? FileManager.default.removeItem(atPath: path) }
        let stream = try RequestStream.trace(path, count: 100, seed: 42)
        #expect(stream.thumbnails.map(\.number) == [1, 2, 1, 3])
        #expect(stream.thumbnails.map(\.byteCount) == [50_000, 2_000, 50_000, 200_000])
    }

    @Test func `a trace that ends within a record is refused, though less of it is wanted`() throws {
        let path = try Self.write([(1, 50_000), (2, 60_000)], cut: 5)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let error = #expect(throws: BadInput.self) { try RequestStream.trace(path, count: 1, seed: 42) }
        #expect(error?.exitCode == 66)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func `distinct pictures are counted once`() {
        let thumbnails = [1, 2, 1].map { Thumbnail(number: $0, byteCount: 2_000 + Int($0)) }
        let distinct = RequestStream(thumbnails: thumbnails).distinct
        #expect(distinct.count == 2)
        #expect(distinct.bytes == 4_003)
    }

    /// Writes a binary trace of the given keys and sizes, less its last `cut` bytes.
    static func write(_ requests: [(UInt64, UInt32)], cut: Int = 0) throws -> String {
        var data = Data()
        for (key, size) in requests {
            withUnsafeBytes(of: key.littleEndian) { data.append(contentsOf: $0) }
            withUnsafeBytes(of: size.littleEndian) { data.append(contentsOf: $0) }
        }
        let path = FileManager.default.temporaryDirectory.appending(path: "cache-demo-test-\(UUID()).trace").path
        try data.dropLast(cut).write(to: URL(fileURLWithPath: path))
        return path
    }
}
