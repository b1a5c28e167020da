//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Testing
import _CacheTestSupport

@Suite("Codecs")
struct CodecTests {
    static func roundTrip<C: CacheCodec>(_ value: C.Value, _ codec: C) throws -> C.Value {
        let bytes = try codec.encode(value)
        return try codec.decode(bytes.span.bytes)
    }

    @Test("What was encoded is decoded", arguments: [[], [0], [255, 0, 13, 10]] as [[UInt8]])
    func bytes(_ value: [UInt8]) throws {
        #expect(try Self.roundTrip(value, .bytes) == value)
    }

    @Test("Strings keep every scalar", arguments: ["", "\0", "e\u{301}", "🧊\u{10FFFF}"])
    func strings(_ value: String) throws {
        #expect(Array(try Self.roundTrip(value, .string).unicodeScalars) == Array(value.unicodeScalars))
    }

    @Test(
        "Invalid UTF-8 is an error and is not repaired",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2]]
    )
    func invalidUTF8(_ bytes: [UInt8]) {
        #expect(throws: CacheCodecError.invalidUTF8) { try StringCodec().decode(bytes.span.bytes) }
    }

    @Test("Numbers keep every bit")
    func numbers() throws {
        #expect(try Self.roundTrip(.min, TrivialCodec<Int64>()) == .min)
        #expect(try Self.roundTrip(.max, TrivialCodec<UInt8>()) == .max)
        #expect(try Self.roundTrip(-0.0, TrivialCodec<Double>()).sign == .minus)
        #expect(try Self.roundTrip(.signalingNaN, TrivialCodec<Float>()).isNaN)
        let vector = SIMD4<Float>(1, -2, 3.5, .infinity)
        #expect(try Self.roundTrip(vector, TrivialCodec<SIMD4<Float>>()) == vector)
    }

    @Test("Too few or too many bytes are an error", arguments: [0, 7, 9, 16])
    func wrongByteCount(_ count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        #expect(throws: CacheCodecError.wrongByteCount(count, expected: 8)) {
            try TrivialCodec<UInt64>().decode(bytes.span.bytes)
        }
    }

    @Test("Random bytes are decoded or refused, at any offset")
    func randomBytes() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var generator = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1..<24, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            let tail = Array(bytes.dropFirst(Int.random(in: 0..<bytes.count, using: &generator)))
            let text = try? StringCodec().decode(tail.span.bytes)
            #expect(text.map { Array($0.utf8) == tail } ?? true)
            let number = try? TrivialCodec<UInt32>().decode(tail.span.bytes)
            #expect((number != nil) == (tail.count == 4))
        }
    }
}
