//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import cache_demo

@Suite struct ViewTests {
    /// A run of ours in the middle of the neighbour's stay.
    static func record(_ contender: Contender = .memoryCache) -> RunRecord {
        var record = RunRecord(contender)
        for tenth in 0...50 {
            var sample = Sample()
            sample.time = Double(tenth) / 10
            sample.requests = tenth * 100
            sample.hits = tenth * 60
            sample.cachedBytes = tenth << 22
            sample.purgeableBytes = tenth << 22
            sample.residentBytes = tenth << 22 + 20 << 20
            sample.groupBytes = min(256 << 20, sample.cachedBytes + 20 << 20)
            sample.level = tenth > 40 ? "warning" : "normal"
            sample.evictions = ["pressure": tenth, "discarded": 2 * tenth]
            record.samples.append(sample)
        }
        record.seconds = 5
        record.neighbour = .init(from: 4, full: 4.5, until: 5)
        return record
    }

    private func frame(_ record: RunRecord, columns: Int) -> [StyledLine] {
        LiveFrame(
            record: record,
            limitBytes: 256 << 20,
            neighbourBytes: 100 << 20,
            seconds: 12,
            place: (3, 4),
            columns: columns
        ).lines
    }

    private func text(_ lines: [StyledLine]) -> String {
        lines.map { $0.pieces.map(\.text).joined() }.joined(separator: "\n")
    }

    @Test func `the live view tells all that there is to tell`() {
        let text = text(frame(Self.record(), columns: 120))
        for words in [
            "MemoryCache", "run 3 of 4", "5.0 of 12 s", "60.0 % now", "60.0 % in all", "cached", "purgeable",
            "resident",
            "● warning", "50 pressure", "100 discarded", "0 limit", "neighbour takes 100 MiB", "wrong bytes in 0",
        ] {
            #expect(text.contains(words), "“\(words)” in\n\(text)")
        }
    }

    @Test(arguments: [20, 40, 79, 80, 200])
    func `no line is wider than the terminal, whatever its width`(columns: Int) {
        for line in frame(Self.record(), columns: columns) {
            let visible = line.rendered(columns: columns).replacing(#/\u{1B}\[[0-9;]*m/#, with: "")
            #expect(visible.count <= columns)
        }
    }

    @Test func `at 80 columns nothing is cut off`() {
        for line in frame(Self.record(), columns: 79) { #expect(line.width <= 79, "\(text([line]))") }
    }

    @Test func `a run that has told nothing yet can be shown`() {
        #expect(text(frame(RunRecord(.dictionary), columns: 80)).contains("Dictionary"))
    }

    @Test func `a cut line ends its colour`() {
        let line = StyledLine("plain ").adding("coloured", .red)
        #expect(line.rendered(columns: 8) == "plain \u{1B}[31mco\u{1B}[0m")
        #expect(line.rendered(columns: 3) == "pla")
    }

    @Test func `a plain line says the same without an escape`() {
        let line = PlainDisplay.line(Self.record())
        #expect(!line.contains("\u{1B}") && line.count <= 80)
        for words in ["5.0 s", "60.0 %", "200 MiB", "150", "neighbour", "warning"] {
            #expect(line.contains(words), "“\(words)” in “\(line)”")
        }
    }

    @Test func `a window's hit rate is of that window alone`() {
        var record = RunRecord(.dictionary)
        for (time, requests, hits) in [(0.5, 100, 0), (1.0, 200, 0), (1.5, 300, 100), (2.0, 400, 200)] {
            var sample = Sample()
            (sample.time, sample.requests, sample.hits) = (time, requests, hits)
            record.samples.append(sample)
        }
        #expect(record.recentHitRate == 1)
        #expect(record.last.hitRate == 0.5)
        #expect(record.hitRates(window: 0.5).map(\.rate) == [0, 0, 1, 1])
    }

    @Test func `numbers as people read them`() {
        #expect(1_234_567.grouped == "1,234,567")
        #expect((-1_000).grouped == "-1,000")
        #expect(999.grouped == "999")
        #expect(0.asTime == "–")
        #expect(850.asTime == "850 ns")
        #expect(21_400.asTime == "21 µs")
        #expect(9_800_000.asTime == "9.8 ms")
        #expect(ByteCount(0).description == "0 B")
        #expect(ByteCount(1536).description == "1.5 KiB")
        #expect(ByteCount(256 << 20).description == "256 MiB")
        #expect(ByteCount(2 << 30).description == "2 GiB")
    }

    @Test func `bytes as people write them`() {
        let written = ["256MiB": 256 << 20, "100m": 100 << 20, "1.5 GiB": 3 << 29, "65536": 65_536, "2kb": 2_048]
        for (text, bytes) in written { #expect(ByteCount(argument: text)?.bytes == bytes, "\(text)") }
        for text in ["", "MiB", "-1", "1e3", "12 parsecs", "99999999999GiB", "1.2.3"] {
            #expect(ByteCount(argument: text) == nil, "\(text)")
        }
    }
}
