//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import MemoryCaching
import Testing

@Suite("The property list codec")
struct PropertyListCodecTests {
    struct Response: Codable, Equatable {
        var contentType: String
        var body: Data
        var age: Double?
    }

    @Test("What was encoded is decoded, and bytes are kept as they are", arguments: [0, 1, 17_462, 1 << 20])
    func roundTrip(_ count: Int) throws {
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let response = Response(contentType: "image/bmp; \u{1F9CA}", body: body, age: nil)
        let codec = PropertyListCodec<Response>()
        let bytes = try codec.encode(response)
        #expect(bytes.count <= count + 200)
        #expect(try codec.decode(bytes.span.bytes) == response)
    }

    @Test("What is no such value is an error")
    func otherBytes() throws {
        let bytes = try PropertyListCodec<Response>().encode(Response(contentType: "a", body: Data([1, 2]), age: 1))
        for count in 0..<bytes.count {
            #expect(throws: (any Error).self) {
                try PropertyListCodec<Response>().decode(Array(bytes[..<count]).span.bytes)
            }
        }
        #expect(throws: (any Error).self) { try PropertyListCodec<[Int]>().decode(bytes.span.bytes) }
        #expect(throws: (any Error).self) {
            try PropertyListCodec<Response>().decode([UInt8](repeating: 0xFF, count: 100).span.bytes)
        }
    }
}
