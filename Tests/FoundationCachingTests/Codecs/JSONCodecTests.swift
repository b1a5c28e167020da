//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import FoundationCaching
import MemoryCaching
import Testing

@Suite("The JSON codec")
struct JSONCodecTests {
    struct Page: Codable, Equatable {
        var title: String
        var links: [Int]
        var score: Double?
    }

    @Test("What was encoded is decoded")
    func roundTrip() throws {
        let page = Page(title: "🧊 \"quoted\"\n", links: [1, -2, .max], score: nil)
        let codec = JSONCodec<Page>()
        let bytes = try codec.encode(page)
        #expect(try codec.decode(bytes.span.bytes) == page)
    }

    @Test("What is no such value is an error", arguments: ["", "{", "null", "{\"title\": 1}", "\u{0}"])
    func otherBytes(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(throws: (any Error).self) { try JSONCodec<Page>().decode(bytes.span.bytes) }
    }
}
