//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import ControlGroups
import Testing

@testable import cache_demo

@Suite struct ScreenTests {
    /// A run of ours in the middle of the neighbour's stay.
    static func record(_ contender: Contender = .memoryCache) -> RunRecord {
        var record = RunRecord(contender: contender, limitBytes: 256 << 20)
        for tenth in 0...50 {
            var sample = Sample()
            sample.time = Double(tenth) / 10
            sample.requests = tenth * 100
            sample.hits = tenth * 60
            sample.cachedBytes = tenth << 22
            sample.purgeableBytes = 64 << 20
            sample.groupBytes = tenth < 50 ? tenth << 22 : 240 << 20
            sample.residentBytes = 144 << 20
            sample.level = tenth > 40 ? "warning" : "normal"
            sample.evictions = 3 * tenth
            record.samples.append(sample)
        }
        record.neighbour = 4...5
        record.samples[50].burst = .over
        return record
    }

    private func row(_ record: RunRecord) -> Line {
        Row(record: record, limitBytes: 256 << 20).line
    }

    @Test func `a row tells all that there is to tell, in 79 columns`() {
        let text = row(Self.record()).text
        for words in ["5.0 s", "60.0 %", "200 MiB", "150", "warning"] {
            #expect(text.contains(words), "“\(words)” in “\(text)”")
        }
        #expect(text.count <= 79 && !text.contains("\u{1B}"))
    }

    @Test func `a bar shows the shares of memory to scale`() {
        func count(_ glyph: Character, _ text: String) -> Int { text.filter { $0 == glyph }.count }
        // Of 24 columns for 256 MiB: 80 MiB kept, 64 purgeable, 96 the neighbour's, 16 free.
        let full = row(Self.record()).text
        #expect("█▒░·".map { count($0, full) } == [8, 6, 9, 1])
        var alone = Self.record()
        alone.neighbour = nil
        #expect("█▒░·".map { count($0, row(alone).text) } == [17, 6, 0, 1])
        var beyond = Self.record()
        beyond.samples[50].groupBytes = 300 << 20
        #expect(row(beyond).text.filter { "█▒░·".contains($0) }.count == Row.width)
    }

    @Test func `a burst has its mark on the time line, and its share of the bar`() {
        var burst = Self.record()
        burst.samples[50].level = "normal"
        #expect(!row(burst).text.contains("burst"))
        burst.samples[50].burst = .coming
        #expect(row(burst).text.hasSuffix("neighbour, burst…"))
        burst.samples[50].burst = .held
        #expect(row(burst).text.hasSuffix("neighbour, burst") && row(burst).text.count <= 79)
        // 16 MiB kept, 64 purgeable, 64 the burst's, 96 the neighbour's, 16 free.
        #expect("█▒▓░·".map { glyph in row(burst).text.filter { $0 == glyph }.count } == [2, 6, 6, 9, 1])
    }

    @Test(arguments: [20, 40, 79, 200])
    func `no line is wider than the terminal, whatever its width`(columns: Int) {
        let visible = row(Self.record()).coloured(columns: columns).replacing(#/\u{1B}\[[0-9;]*m/#, with: "")
        #expect(visible == String(row(Self.record()).text.prefix(columns)))
    }

    @Test func `a run that has told nothing yet can be shown`() {
        #expect(row(RunRecord(contender: .dictionary, limitBytes: nil)).text.contains("0.0 s"))
    }

    @Test func `a cut line ends its colour`() {
        let line = Line("plain ").adding("coloured", .red)
        #expect(line.coloured(columns: 8) == "plain \u{1B}[31mco\u{1B}[0m")
        #expect(line.coloured(columns: 3) == "pla")
    }

    @Test func `the introduction fits 80 columns, and says what holds memory down`() throws {
        let options = try CacheDemo.parse([])
        let refused = ControlGroup.Refused(doing: "mkdir /" + String(repeating: "slice/", count: 20), code: 13)
        let confinements: [Confinement] = [
            .groups(below: "/sys/fs/cgroup", isVersion1: false), .none(reason: "\(refused)"),
        ]
        for (confinement, words) in zip(confinements, ["cgroup (v2)", "(Permission denied: mkdir /slice/"]) {
            let lines = Session.introduction(options, port: 65_535, confinement)
            #expect(lines.contains { $0.contains(words) })
            for line in lines { #expect(line.count <= 77, "\(line)") }
        }
    }

    @Test func `numbers as people read them`() {
        #expect(0.asTime == "–")
        #expect(850.asTime == "850 ns")
        #expect(21_400.asTime == "21 µs")
        #expect(9_800_000.asTime == "9.8 ms")
        #expect((256 << 20).inMebibytes == "256 MiB")
        #expect((1_234_567 << 20).inMebibytes == "1,234,567 MiB")
        #expect(0.1234.percent == "12.3 %")
    }
}
