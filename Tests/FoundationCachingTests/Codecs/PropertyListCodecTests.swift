//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import MemoryCaching
import Testing
import _CacheTestSupport

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

    /// Takes any number of lists inside each other.
    struct Tree: Codable, Equatable {
        var inner: [Tree]

        init(depth: Int) { inner = depth > 1 ? [Tree(depth: depth - 1)] : [] }
        init(from decoder: any Decoder) throws { inner = try decoder.singleValueContainer().decode([Tree].self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(inner)
        }
    }

    /// A binary property list of arrays, each of the arrays with these numbers; the first is the top.
    static func list(_ arrays: [[UInt16]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        func add(_ value: Int, _ length: Int) {
            for byte in (0..<length).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) }
        }
        for array in arrays {
            offsets.append(bytes.count)
            bytes.append(0xA0 | UInt8(array.count))
            for reference in array { add(Int(reference), 2) }
        }
        let table = bytes.count
        for offset in offsets { add(offset, 4) }
        bytes += [0, 0, 0, 0, 0, 0, 4, 2]
        for number in [arrays.count, 0, table] { add(number, 8) }
        return bytes
    }

    @Test("Values nested 512 deep are kept, and deeper ones are an error when they are encoded")
    func nesting() throws {
        let codec = PropertyListCodec<Tree>()
        let deep = Tree(depth: 512)
        let bytes = try codec.encode(deep)
        #expect(try codec.decode(bytes.span.bytes) == deep)
        #expect(throws: EncodingError.self) { try codec.encode(Tree(depth: 513)) }
    }

    /// `depth` lists inside each other, each of which names the next one so many times.
    static func chain(_ depth: UInt16, names: Int) -> [[UInt16]] {
        (1..<depth).map { [UInt16](repeating: $0, count: names) } + [[]]
    }

    static let badLists: [[[UInt16]]] = [
        [[0]], [[1], [0]], [[1, 1], []], [[1, 2], [3], [3], []], [[1]], chain(600, names: 1), chain(50, names: 2),
    ]

    @Test("Lists that contain themselves, name one list twice or are too deep are errors", arguments: badLists)
    func badNesting(_ arrays: [[UInt16]]) throws {
        let bytes = Self.list(arrays)
        #expect(throws: DecodingError.self) { try PropertyListCodec<Tree>().decode(bytes.span.bytes) }
    }

    @Test("A list made by hand is read, so that the errors above are about its shape")
    func goodNesting() throws {
        let bytes = Self.list([[1, 2], [], [3], []])
        let tree = try PropertyListCodec<Tree>().decode(bytes.span.bytes)
        #expect(tree.inner.count == 2 && tree.inner[1].inner.count == 1)
    }

    @Test("Property lists that are not binary are errors, whatever the decoder would make of them")
    func otherFormats() throws {
        let encoder = PropertyListEncoder()
        for format in [PropertyListSerialization.PropertyListFormat.xml, .openStep] {
            encoder.outputFormat = format
            guard let bytes = try? Array(encoder.encode(["n": 1])) else { continue }
            #expect(throws: DecodingError.self) { try PropertyListCodec<[String: Int]>().decode(bytes.span.bytes) }
        }
        // Foundation ends the process over this one.
        let digits = [0xF8, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31] as [UInt8]
        let bytes =
            Array("<plist><dict><key>n</key><integer>".utf8) + digits + Array("</integer></dict></plist>".utf8)
        #expect(throws: DecodingError.self) { try PropertyListCodec<[String: Int]>().decode(bytes.span.bytes) }
    }

    @Test("A short list that names a long text so often that there is no room for it is an error, both ways")
    func repetitions() throws {
        let codec = PropertyListCodec<[String]>()
        // What repeats often, and is not large decoded, is nothing special.
        for (length, count) in [(20, 10_000), (10_000, 500)] {
            let texts = [String](repeating: String(repeating: "a", count: length), count: count)
            let bytes = try codec.encode(texts)
            let decoded = try codec.decode(bytes.span.bytes)
            #expect(decoded == texts)
        }
        // The values share one text in memory. Decoded, it would be 10,000.
        let many = [String](repeating: String(repeating: "a", count: 10_000), count: 10_000)
        #expect(throws: EncodingError.self) { try codec.encode(many) }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let bytes = Array(try encoder.encode(many))
        #expect(bytes.count < 100_000)
        #expect(throws: DecodingError.self) { try codec.decode(bytes.span.bytes) }
    }

    @Test("Any bytes are a value or an error")
    func mutations() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("PropertyListCodecTests.mutations: seed \(seed)")
        var random = SplitMix64(seed: seed)
        let codec = PropertyListCodec<[String: [Tree]]>()
        let original = try codec.encode(["a": [Tree(depth: 3), Tree(depth: 1)], "b": [], "cc": [Tree(depth: 20)]])
        for _ in 0..<20_000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? codec.decode(bytes.span.bytes)
        }
    }
}
