//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

@testable import cache_demo

/// Whole runs, short ones. One after the other: each wants the machine for itself.
@Suite(.serialized) struct DemoRunTests {
    private func report(_ arguments: [String]) throws -> (JSONReport, DemoProgram, DemoProgram.Result) {
        let program = try DemoProgram(DemoProgram.short + ["--json"] + arguments)
        let result = program.result()
        let report = try JSONDecoder().decode(JSONReport.self, from: Data(result.output.utf8))
        return (report, program, result)
    }

    @Test func `our caches survive, every byte is right, and nothing is left behind`() throws {
        let (report, program, result) = try report(["--no-controls"])
        #expect(result.code == 0, "\(report.verdict)")
        #expect(report.verdict.success)
        #expect(report.runs.map(\.contender) == [.memoryCache, .purgeableCache, .appleClasses])
        for run in report.runs {
            #expect(run.fate == .survived)
            #expect(run.last.wrong == 0)
            #expect(run.last.hits > 0)
            #expect(run.last.downloads > 0)
            #expect(run.neighbour?.killed == false)
        }
        #expect(program.leftovers() == [])
    }

    @Test func `without a cgroup it says so, and gives the pressure signal by hand`() throws {
        let (report, program, result) = try report(["--no-controls", "--no-cgroup"])
        #expect(result.code == 0, "\(report.verdict)")
        #expect(report.setting.controlGroup == nil)
        #expect(report.setting.confinement.contains("by hand"))
        for run in report.runs {
            #expect(run.samples.contains { $0.level != "normal" }, "the neighbour's stay is pressure")
            #expect(run.samples.allSatisfy { $0.groupBytes == nil })
        }
        #expect(program.leftovers() == [])
    }

    @Test func `controls are reported, whatever becomes of them`() throws {
        let (report, _, _) = try report(["--requests", "200"])
        #expect(report.runs.map(\.contender) == Contender.allCases)
        // Whichever comes first: the requests, the time, the kernel.
        #expect(report.runs.allSatisfy { $0.last.requests >= 200 || $0.seconds >= 1.5 || $0.fate == .killed })
        #expect(report.verdict.lines.count == 5)
    }

    @Test func `a trace gives the keys`() throws {
        let path = try RequestStreamTests.write((0..<2_000).map { ($0 % 20, 30_000) })
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (report, _, result) = try report(["--no-controls", "--trace", path])
        #expect(result.code == 0)
        #expect(report.setting.distinctThumbnails == 20)
        #expect(report.setting.distinctBytes == 20 * 30_000)
        #expect(report.runs.allSatisfy { $0.last.entries == 20 })
    }

    @Test func `the picture of a run is written where it was asked for`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "cache-demo-test-\(UUID()).svg").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (_, _, result) = try report(["--no-controls", "--svg", path])
        #expect(result.code == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("<svg"))
        #expect(text.contains("memoryCache"))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `interrupted, it removes what it made`(signal: Int32) throws {
        let program = try DemoProgram(["--no-controls", "--limit", "200MiB", "--seconds", "30"])
        #expect(program.waits(for: "hits"))
        kill(program.process.processIdentifier, signal)
        let result = program.result()
        #expect(result.code == 128 + signal)
        #expect(program.leftovers() == [])
    }

    @Test func `killed, it takes its children with it, and the next run removes its groups`() throws {
        let program = try DemoProgram(["--no-controls", "--limit", "200MiB", "--seconds", "30"])
        #expect(program.waits(for: "hits"))
        kill(program.process.processIdentifier, SIGKILL)
        _ = program.result()
        // Children see the end of their pipe within moments; a minute is for machines that have no time for them.
        let deadline = ContinuousClock.now + .seconds(60)
        while program.leftovers().contains(where: { $0.hasPrefix("process") }), ContinuousClock.now < deadline {
            usleep(10_000)
        }
        #expect(!program.leftovers().contains { $0.hasPrefix("process") })
        _ = try report(["--no-controls", "--requests", "20"])
        #expect(program.leftovers() == [])
    }
}
