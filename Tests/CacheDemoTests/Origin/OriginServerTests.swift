//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationNetworking
import Testing

@testable import cache_demo

@Suite struct OriginServerTests {
    @Test func `the origin serves what its URL names, byte for byte`() async throws {
        let origin = try await OriginServer(port: 0, seed: 42, latency: .zero)
        let thumbnail = Thumbnail(number: 17, byteCount: 54_321)
        let data = try await Downloader(port: origin.port, connections: 2).data(at: thumbnail.path)
        #expect([UInt8](data) == Raster.paint(thumbnail, seed: 42))
        await origin.stop()
    }

    @Test func `what it does not serve is an error for the fetcher`() async throws {
        let origin = try await OriginServer(port: 0, seed: 42, latency: .zero)
        let downloader = Downloader(port: origin.port, connections: 2)
        await #expect(throws: URLError.self) { try await downloader.data(at: "/thumbnails/1-1.bmp") }
        await origin.stop()
    }

    @Test func `a taken port is refused in one line that says what to do`() async throws {
        let origin = try await OriginServer(port: 0, seed: 42, latency: .zero)
        let error = await #expect(throws: BadInput.self) {
            try await OriginServer(port: origin.port, seed: 42, latency: .zero)
        }
        #expect(error?.exitCode == 64)
        #expect(error?.description.contains("\(origin.port)") == true)
        #expect(error?.description.contains("--port") == true)
        #expect(error?.description.contains("\n") == false)
        await origin.stop()
    }

    @Test func `a request takes no less than the latency`() async throws {
        let origin = try await OriginServer(port: 0, seed: 42, latency: .milliseconds(30))
        let downloader = Downloader(port: origin.port, connections: 2)
        let path = Thumbnail(number: 1, seed: 1).path
        let time = try await ContinuousClock().measure { _ = try await downloader.data(at: path) }
        #expect(time >= .milliseconds(30))
        await origin.stop()
    }
}
