//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Testing

@Suite("Reading traces")
struct TraceReadingTests {
    static let records = [(0x0102_0304_0506_0708, 10), (7, 0), (Int.max, 1 << 31)]
    static var binary: [UInt8] { records.flatMap { littleEndian(UInt64($0.0), UInt32($0.1)) } }
    static let requests = records.map { TraceRequest(key: UInt64($0.0), size: max(1, $0.1)) }

    @Test("Binary records are 12 bytes, little-endian; a size of 0 counts as 1")
    func binaryRecords() throws {
        let file = try TemporaryFile(Self.binary)
        #expect(try Array(Trace(contentsOf: file.path)) == Self.requests)
        #expect(try Array(Trace(contentsOf: file.path, format: .binary)) == Self.requests)
    }

    @Test("A packed trace reads as the trace", arguments: ["gzip", "zstd"])
    func packed(program: String) throws {
        let plain = try TemporaryFile(Self.binary)
        let bytes = try plain.packed(with: program)
        // zstd is an extra: where the machine has none there is nothing to test.
        if bytes.isEmpty, program == "zstd" { return }
        let file = try TemporaryFile(bytes)
        #expect(try Array(Trace(contentsOf: file.path)) == Self.requests)
    }

    @Test("A trace larger than the window comes through whole")
    func large() throws {
        let count = 100_000
        let bytes = (0..<count).flatMap { littleEndian(UInt64($0 % 997), UInt32(3)) }
        let plain = try TemporaryFile(bytes)
        let file = try TemporaryFile(plain.packed(with: "gzip"))
        let trace = try Trace(contentsOf: file.path)
        #expect(trace.count == count)
        #expect(trace.enumerated().allSatisfy { $1 == TraceRequest(key: UInt64($0 % 997), size: 3) })
    }

    @Test("oracleGeneral is known by its records")
    func oracleGeneral() throws {
        let bytes =
            littleEndian(UInt32(1), UInt64(11), UInt32(100), Int64(3))
            + littleEndian(UInt32(1), UInt64(12), UInt32(200), Int64(-1))
            + littleEndian(UInt32(2), UInt64(11), UInt32(100), Int64(-1))
        let file = try TemporaryFile(bytes)
        let expected = [(11, 100), (12, 200), (11, 100)].map { TraceRequest(key: $0.0, size: $0.1) }
        #expect(try TraceReader(path: file.path).format == .oracleGeneral)
        #expect(try Array(Trace(contentsOf: file.path)) == expected)
    }

    @Test("An ARC line is as many requests as it has blocks")
    func arc() throws {
        let file = try TemporaryFile("100 3 0 0\r\n7 1 0 1\n\n9 0 0 2\n", extension: "lis")
        #expect(try Array(Trace(contentsOf: file.path)) == [100, 101, 102, 7].map { TraceRequest(key: $0) })
    }

    @Test("A LIRS line is a block number; stars are skipped")
    func lirs() throws {
        let file = try TemporaryFile("5\n*\n 6 \n5", extension: "trc")
        #expect(try TraceReader(path: file.path).format == .lirs)
        #expect(try Array(Trace(contentsOf: file.path)) == [5, 6, 5].map { TraceRequest(key: $0) })
    }

    @Test("CSV has key, size and cost, of which the last two may be missing")
    func csv() throws {
        let file = try TemporaryFile("# a log\nkey,size,cost\n1,10,2.5\n2,20\n\n3\n4,,1\n5 , 30 , 0\r\n")
        let expected = [
            TraceRequest(key: 1, size: 10, cost: 2.5), TraceRequest(key: 2, size: 20), TraceRequest(key: 3, size: 0),
            TraceRequest(key: 4, size: 0, cost: 1), TraceRequest(key: 5, size: 30, cost: 0),
        ]
        let trace = try Trace(contentsOf: file.path)
        #expect(Array(trace) == expected)
        #expect(trace.isSized && trace.hasCosts)
    }

    @Test("CSV keys of text are told apart, and quotes keep commas")
    func csvText() throws {
        let file = try TemporaryFile("/a/1,5\n\"/a,\"\"1\"\"\",5\n/a/1,5\n007,1\n7,1\n\"7\",1\n")
        let keys = try Trace(contentsOf: file.path).map(\.key)
        #expect(keys[0] == keys[2])
        #expect(keys[4] == 7)
        #expect(Set(keys).count == 5)
    }

    @Test("A file without a line end and with one key a line is CSV where keys are text")
    func textKeys() throws {
        let file = try TemporaryFile("alpha\nbeta\nalpha")
        let keys = try Trace(contentsOf: file.path).map(\.key)
        #expect(keys.count == 3 && keys[0] == keys[2] && keys[0] != keys[1])
    }
}

@Suite("Traces that cannot be read")
struct TraceErrorTests {
    func failure(_ path: String, _ format: TraceFormat = .automatic) -> TraceError? {
        do throws(TraceError) {
            _ = try Trace(contentsOf: path, format: format)
            return nil
        } catch { return error }
    }

    @Test("A record cut short says where")
    func truncatedRecord() throws {
        let file = try TemporaryFile(Array(TraceReadingTests.binary.dropLast(5)))
        let error = try #require(failure(file.path, .binary))
        #expect(error.reason == .truncatedRecord(bytes: 7, recordLength: 12))
        #expect(error.position == .byte(24))
        #expect(error.description.hasPrefix("\(file.path): byte 24: ends 7 bytes into a record of 12; "))
    }

    @Test("A damaged or cut gzip file is an error, not a short trace", arguments: [1, 8, 20])
    func damagedCompression(missing: Int) throws {
        let plain = try TemporaryFile((0..<1000).flatMap { littleEndian(UInt64($0 &* 7919), UInt32(3)) })
        let file = try TemporaryFile(plain.packed(with: "gzip").dropLast(missing))
        let error = try #require(failure(file.path, .binary))
        #expect(error.reason == .damagedCompression("gzip"))
        #expect(error.description.contains(file.path))
    }

    @Test("A missing file and a directory are unreadable")
    func unreadable() throws {
        let error = try #require(failure("/no/such/trace"))
        #expect(error.description.contains("/no/such/trace: cannot be read: No such file or directory; check"))
        guard case .unreadable? = failure("/tmp")?.reason else {
            Issue.record("a directory was read")
            return
        }
    }

    @Test("A file without requests is an error", arguments: ["", "# nothing\n", "\n\n"])
    func empty(text: String) throws {
        let file = try TemporaryFile(text)
        #expect(failure(file.path)?.reason == .empty)
    }

    @Test(
        "A bad line says which",
        arguments: [
            ("1,2\n2,x\n", TraceFormat.csv), ("1,2\n2,-3\n", .csv), ("1,2\n2,3,-1\n", .csv), ("1,2\n2,3,nan\n", .csv),
            ("1,2\n1,2,3,4\n", .csv), ("1,2\n\"1,2\n", .csv), ("1,2\n,5\n", .csv), ("1,2\n5,\n", .csv),
            ("1,2\n5,999999999999999999\n", .csv), ("1 1 0 0\n1 1 0\n", .arc), ("1 1 0 0\n1 99999999 0 0\n", .arc),
            ("1 1 0 0\n18446744073709551615 1 0 0\n", .arc), ("1\nx\n", .lirs), ("1\n18446744073709551616\n", .lirs),
        ]
    )
    func badLine(text: String, format: TraceFormat) throws {
        let file = try TemporaryFile(text)
        let error = try #require(failure(file.path, format))
        #expect(error.position == .line(2))
        guard case .badLine = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(!error.description.contains("\n"))
    }

    @Test("Garbage is an error or a trace, and never a crash")
    func garbage() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for format in TraceFormat.allCases {
            for length in [1, 11, 12, 13, 23, 24, 25, 200, 5000] {
                let file = try TemporaryFile((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
                if let error = failure(file.path, format) { #expect(!error.description.contains("\n")) }
            }
        }
    }

    @Test("A line without an end does not fill the memory")
    func endlessLine() throws {
        let file = try TemporaryFile([UInt8](repeating: UInt8(ascii: "a"), count: 3 << 20))
        guard case .badLine = failure(file.path, .csv)?.reason else {
            Issue.record("a line of three megabytes was taken")
            return
        }
    }
}
