//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationXML
import Testing

@testable import cache_demo

@Suite struct ReportTests {
    static let setting: Setting = {
        let options = try! DemoOptions.defaults
        let place = ControlGroupMounts.Place(version: .v1, directory: "/sys/fs/cgroup/memory")
        return Setting(
            options,
            port: 8080,
            confinement: .groups(in: place, limit: 256 << 20),
            distinct: (2_000, 200_000_000)
        )
    }()

    private func run(_ contender: Contender, _ fate: RunRecord.Fate, wrong: Int = 0) -> RunRecord {
        var record = ViewTests.record(contender)
        record.fate = fate
        record.samples[record.samples.count - 1].wrong = wrong
        return record
    }

    private var asPromised: [RunRecord] {
        [
            run(.dictionary, .killed), run(.foundationCache, .killed), run(.memoryCache, .survived),
            run(.purgeableCache, .survived), run(.appleClasses, .survived),
        ]
    }

    @Test func `success is that ours survived with every byte right`() {
        let verdict = Verdict(asPromised, setting: Self.setting)
        #expect(verdict.success)
        #expect(verdict.conclusion.contains("both controls were killed"))
        #expect(verdict.lines.count == 5)
        #expect(verdict.lines[0].contains("killed at 5.0 s"))
    }

    @Test func `a run that never filled memory proves nothing, and says so`() {
        var idle = run(.memoryCache, .survived)
        idle.samples = idle.samples.prefix(10).map { sample in
            var sample = sample
            sample.evictions = [:]
            return sample
        }
        idle.limitBytes = 256 << 20
        let alone = Verdict([idle], setting: Self.setting)
        #expect(alone.lines[0].contains("not filled") && !alone.lines[0].contains("survived"))
        #expect(alone.conclusion.contains("prove nothing") && alone.conclusion.contains("--seconds"))
        let beside = Verdict([idle, run(.purgeableCache, .survived)], setting: Self.setting)
        #expect(beside.conclusion.contains("1 of our 2 runs"))
        // A control evicts nothing, but fills what it may use.
        idle.samples[9].groupBytes = 256 << 20
        #expect(idle.memoryWasShort)
    }

    @Test func `every line of the report fits a terminal of 80 columns, and tells the hit rate and what a hit costs`() {
        let records = asPromised.map { record in
            var record = record
            record.seconds = 12.1
            for index in record.samples.indices { record.samples[index].hitNanoseconds = 12_300 }
            record.samples[record.samples.count - 1].cachedBytes = 1023 << 20
            return record
        }
        let verdict = Verdict(records, setting: Self.setting)
        for line in verdict.lines {
            #expect(line.count <= 79, "\(line)")
            #expect(line.contains("60.0 % hits") && line.contains("hit 12 µs"), "\(line)")
        }
        #expect(verdict.conclusion.count <= 79)
        for line in Self.setting.introduction { #expect(line.count <= 77, "\(line)") }
    }

    @Test func `success does not depend on the controls' fate`() {
        let verdict = Verdict([run(.dictionary, .survived), run(.memoryCache, .survived)], setting: Self.setting)
        #expect(verdict.success)
        #expect(verdict.conclusion.contains("not killed"))
    }

    @Test(arguments: [RunRecord.Fate.killed, .stuck, .failed("ended with code 1")])
    func `one of ours that did not survive is no success`(fate: RunRecord.Fate) {
        #expect(!Verdict([run(.purgeableCache, fate), run(.memoryCache, .survived)], setting: Self.setting).success)
    }

    @Test func `one wrong value is no success, and is told`() {
        let verdict = Verdict([run(.memoryCache, .survived, wrong: 1)], setting: Self.setting)
        #expect(!verdict.success)
        #expect(verdict.lines[0].contains("1 wrong value"))
        #expect(verdict.lines[0].hasPrefix("✗"))
    }

    @Test func `a run that served nothing is no success`() {
        #expect(!Verdict([RunRecord(.memoryCache)], setting: Self.setting).success)
        #expect(!Verdict([], setting: Self.setting).success)
    }

    @Test func `the chart is well-formed, names every run and marks the controls' ends`() {
        let svg = Chart(asPromised, setting: Self.setting).svg(Verdict(asPromised, setting: Self.setting))
        #expect(XMLParser(data: Data(svg.utf8)).parse())
        for contender in Contender.allCases { #expect(svg.contains("curve \(contender.rawValue)")) }
        #expect(svg.contains("end dictionary"))
        #expect(svg.contains("end foundationCache"))
        #expect(!svg.contains("end memoryCache"))
        #expect(svg.contains("class=\"stay\""))
        #expect(svg.contains("prefers-color-scheme:dark"))
        #expect(!svg.contains("nan"))
    }

    @Test func `a chart of runs that told nothing is still a chart`() {
        let records = Contender.allCases.map { RunRecord($0) }
        let svg = Chart(records, setting: Self.setting).svg(Verdict(records, setting: Self.setting))
        #expect(XMLParser(data: Data(svg.utf8)).parse())
        #expect(!svg.contains("nan") && !svg.contains("inf"))
    }

    @Test func `text of the user's cannot break the chart`() {
        var setting = Self.setting
        setting.stream = "trace <&>.gz"
        let svg = Chart(asPromised, setting: setting).svg(Verdict(asPromised, setting: setting))
        #expect(XMLParser(data: Data(svg.utf8)).parse())
    }

    @Test func `the JSON document can be read back`() throws {
        let verdict = Verdict(asPromised, setting: Self.setting)
        let text = try JSONReport(setting: Self.setting, runs: asPromised, verdict: verdict).text
        let report = try JSONDecoder().decode(JSONReport.self, from: Data(text.utf8))
        #expect(report.runs.count == 5)
        #expect(report.runs[0].fate == .killed)
        #expect(report.setting.seed == 42)
    }

    @Test func `axis steps are round`() {
        #expect(Panel.step(for: 12, marks: 12) == 1)
        #expect(Panel.step(for: 280, marks: 5) == 100)
        #expect(abs(Panel.step(for: 1.5, marks: 12) - 0.2) < 1e-12)
    }
}
