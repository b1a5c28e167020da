//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationXML
import Testing

@testable import cache_demo

@Suite struct VerdictTests {
    private func run(_ contender: Contender, _ fate: RunRecord.Fate, wrong: Int = 0) -> RunRecord {
        var record = ScreenTests.record(contender)
        record.fate = fate
        record.samples[record.samples.count - 1].wrong = wrong
        record.samples[record.samples.count - 1].hitNanoseconds = 12_300
        return record
    }

    private var asPromised: [RunRecord] {
        [
            run(.dictionary, .killed), run(.foundationCache, .killed), run(.memoryCache, .survived),
            run(.purgeableCache, .survived), run(.appleClasses, .survived),
        ]
    }

    private func verdict(_ records: [RunRecord]) -> Verdict { Verdict(records, limitBytes: 256 << 20) }

    @Test func `success is that ours survived with every byte right`() {
        let verdict = verdict(asPromised)
        #expect(verdict.success)
        #expect(verdict.conclusion.contains("both controls were killed"))
        #expect(verdict.lines.count == 6)
        #expect(verdict.lines[1].text.hasPrefix("✗ Dictionary") && verdict.lines[1].text.contains("killed"))
        #expect(verdict.lines[3].text.hasPrefix("✓ MemoryCache") && verdict.lines[3].text.contains("survived"))
    }

    @Test func `every line fits a terminal of 80 columns, and tells the hit rate and what a hit costs`() {
        var records = asPromised
        for index in records.indices {
            records[index].samples[50].time = 3_600
            records[index].samples[50].cachedBytes = 12_345 << 20
        }
        let verdict = verdict(records)
        for line in verdict.lines.dropFirst() {
            #expect(line.text.contains("60.0 %") && line.text.contains("12 µs"), "\(line.text)")
        }
        for line in verdict.lines { #expect(line.text.count <= 79, "\(line.text)") }
        #expect(verdict.conclusion.count <= 79)
    }

    @Test func `the table says who lived through its burst`() {
        func row(_ fate: RunRecord.Fate, _ burst: Burst) -> String {
            var record = run(.memoryCache, fate)
            record.samples[50].burst = burst
            return verdict([record]).lines.map(\.text).joined()
        }
        #expect(row(.survived, .over).contains(" lived "))
        #expect(row(.killed, .coming).contains(" died ") && row(.killed, .held).contains(" died "))
        for text in [row(.killed, .ahead), row(.survived, .refused)] {
            #expect(!text.contains(" lived ") && !text.contains(" died "))
        }
        #expect(row(.killed, .over).contains(" lived "), "killed later, of something else")
        #expect(row(.survived, .refused).contains("no room for the burst"))
    }

    @Test func `where nothing limits the runs, the conclusion says so`() {
        let records = Contender.allCases.map { contender in
            var record = RunRecord(contender: contender, limitBytes: nil)
            record.samples = run(contender, .survived).samples
            return record
        }
        #expect(verdict(records).conclusion.contains("nothing limits the controls"))
        #expect(verdict(records).conclusion.count <= 79)
    }

    @Test func `a run that refused its burst has not kept its promise`() {
        var record = run(.memoryCache, .survived)
        record.samples[50].burst = .refused
        #expect(!verdict([record]).success)
    }

    @Test func `a run that never filled memory proves nothing, and says so`() {
        var idle = run(.memoryCache, .survived)
        for index in idle.samples.indices {
            idle.samples[index].evictions = 0
            idle.samples[index].groupBytes = 10 << 20
        }
        let alone = verdict([idle])
        #expect(alone.success)
        #expect(alone.lines[1].text.contains("not filled") && !alone.lines[1].text.contains("survived"))
        #expect(alone.conclusion.contains("prove nothing") && alone.conclusion.contains("--seconds"))
        #expect(verdict([idle, run(.purgeableCache, .survived)]).conclusion.contains("1 of our 2 runs"))
        // A control evicts nothing, but fills what it may use.
        idle.samples[9].groupBytes = 256 << 20
        #expect(idle.memoryWasShort)
    }

    @Test func `success does not depend on the controls' fate`() {
        let verdict = verdict([run(.dictionary, .survived), run(.memoryCache, .survived)])
        #expect(verdict.success)
        #expect(verdict.conclusion.contains("not killed") && verdict.conclusion.count <= 79)
    }

    @Test(arguments: [RunRecord.Fate.killed, .failed("ended with code 1")])
    func `one of ours that did not survive is no success`(fate: RunRecord.Fate) {
        #expect(!verdict([run(.purgeableCache, fate), run(.memoryCache, .survived)]).success)
    }

    @Test func `one wrong value is no success, and is told`() {
        let verdict = verdict([run(.memoryCache, .survived, wrong: 1)])
        #expect(!verdict.success)
        #expect(verdict.lines[1].text.hasPrefix("✗"))
        #expect(verdict.lines[2].text.contains("1 wrong value"))
    }

    @Test func `what a child said before it failed is told`() {
        var crashed = run(.memoryCache, .failed("ended by signal 5"))
        crashed.words = "Fatal error: out of ideas"
        #expect(verdict([crashed]).lines[2].text.contains("ended by signal 5 (“Fatal error: out of ideas”)"))
    }

    @Test func `a run that served nothing is no success`() {
        #expect(!verdict([RunRecord(contender: .memoryCache, limitBytes: nil)]).success)
        #expect(!verdict([]).success)
    }

    @Test func `the chart is well-formed, names every run and marks the controls' ends`() {
        let svg = Chart(asPromised, limitBytes: 256 << 20, conclusion: verdict(asPromised).conclusion).svg
        #expect(XMLParser(data: Data(svg.utf8)).parse())
        for contender in Contender.allCases { #expect(svg.contains("<polyline") && svg.contains("\"\(contender)\"")) }
        #expect(svg.contains("cross dictionary") && svg.contains("cross foundationCache"))
        #expect(!svg.contains("cross memoryCache"))
        #expect(svg.contains("killed after 5.0 s") && svg.contains("class=\"stay\""))
    }

    @Test func `a chart of runs that told nothing is still a chart`() {
        let records = Contender.allCases.map { RunRecord(contender: $0, limitBytes: nil) }
        let svg = Chart(records, limitBytes: 256 << 20, conclusion: "1 < 2 & \"so\" on").svg
        #expect(XMLParser(data: Data(svg.utf8)).parse())
        #expect(svg.contains("1 &lt; 2 &amp; &quot;so&quot; on"))
        // No coordinate is one of the numbers that are written as "–".
        #expect(svg.firstMatch(of: #/="[^"]*–/#) == nil)
    }
}
