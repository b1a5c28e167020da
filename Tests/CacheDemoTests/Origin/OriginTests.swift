//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Foundation
import FoundationNetworking
import Testing

@testable import cache_demo

@Suite struct OriginTests {
    @Test func `the origin serves what its URL names, byte for byte`() async throws {
        let origin = try await OriginServer()
        let thumbnail = Thumbnail(key: 17)
        let data = try await Downloader(port: origin.port, connections: 2).data(at: thumbnail.path)
        #expect([UInt8](data) == thumbnail.bytes)
    }

    @Test func `what it does not serve is an error for the fetcher`() async throws {
        let origin = try await OriginServer()
        let downloader = Downloader(port: origin.port, connections: 2)
        await #expect(throws: URLError.self) { try await downloader.data(at: "/thumbnails/none") }
    }

    @Test func `a thumbnail is right, and with any bit changed it is wrong`() {
        // A small one: all of it is read for every byte.
        let thumbnail = (0..<100).map { Thumbnail(key: $0) }.min { $0.wordCount < $1.wordCount }!
        var bytes = thumbnail.bytes
        #expect(bytes.withUnsafeBytes { thumbnail.isRight($0) })
        for index in bytes.indices {
            bytes[index] ^= 1 << (index % 8)
            #expect(!bytes.withUnsafeBytes { thumbnail.isRight($0) }, "byte \(index)")
            bytes[index] ^= 1 << (index % 8)
        }
        #expect(!bytes.dropLast().withUnsafeBytes { thumbnail.isRight($0) })
        #expect(!Thumbnail(key: 6).bytes.withUnsafeBytes { thumbnail.isRight($0) })
    }

    @Test func `no word of a thumbnail could be taken for one that the kernel emptied`() {
        let bytes = Thumbnail(key: 11).bytes
        for place in stride(from: 0, to: bytes.count, by: 8) {
            #expect(bytes[place..<(place + 8)].contains { $0 != 0 })
        }
    }

    @Test func `a thumbnail's path names it, and no other path does`() {
        let thumbnail = Thumbnail(key: .max)
        #expect(Thumbnail(path: thumbnail.path) == thumbnail)
        for path in ["/", "/thumbnails", "/thumbnails/", "/thumbnails/-1", "/thumbnails/1.bmp", "/pictures/1"] {
            #expect(Thumbnail(path: path) == nil, "\(path)")
        }
    }

    @Test func `sizes fill the range that the demo speaks of`() {
        let sizes = Thumbnail.requests(seed: 42).prefix(20_000).map { Thumbnail(key: $0.key).wordCount * 8 }
        #expect(sizes.allSatisfy { (2_000...200_000).contains($0) })
        #expect(Set(sizes).count > 1_000)
    }

    @Test func `the same seed asks for the same thumbnails, another for others`() {
        func keys(_ seed: UInt64) -> [UInt64] { Thumbnail.requests(seed: seed).prefix(1_000).map(\.key) }
        #expect(keys(42) == keys(42))
        #expect(keys(42) != keys(43))
    }
}
