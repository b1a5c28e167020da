//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import Testing

@testable import cache_demo

/// Whole runs, short ones. One after the other: each wants the machine for itself.
@Suite(.serialized) struct DemoRunTests {
    private let ours = Contender.allCases.filter(\.isOurs)

    /// Whether the group at `directory` has processes in it.
    private func isInUse(_ directory: String) -> Bool {
        SystemFiles.system.text(directory + "/cgroup.procs")?.isEmpty == false
    }

    /// The table's row of one contender.
    private func row(_ contender: Contender, _ result: DemoProgram.Result) -> String {
        let rows = result.output.split(separator: "\n").filter { "✓–✗".contains($0.first ?? " ") }
        return String(rows.first { $0.dropFirst(2).hasPrefix(contender.title + " ") } ?? "")
    }

    @Test func `our caches survive, every byte is right, and nothing is left behind`() throws {
        func run(seconds: Int) throws -> (DemoProgram, DemoProgram.Result, [String]) {
            let arguments = ["--no-controls", "--limit", "128", "--neighbour", "16", "--seconds", "\(seconds)"]
            let program = try DemoProgram(arguments)
            let result = program.result()
            return (program, result, ours.map { row($0, result) })
        }
        var seconds = 2
        var (program, result, rows) = try run(seconds: seconds)
        // A busy machine gets through so few requests that none is for a thumbnail that was there before.
        while result.code == 0, rows.contains(where: { $0.contains(" 0.0 %") }), seconds < 64 {
            #expect(program.leftovers() == [])
            seconds *= 2
            (program, result, rows) = try run(seconds: seconds)
        }
        #expect(result.code == 0, "\(result.output)")
        for row in rows {
            #expect(row.contains("survived") || row.contains("not filled"), "\(result.output)")
            #expect(row.contains(" %") && !row.contains(" 0.0 %") && row.contains("µs"), "hits: \(row)")
        }
        #expect(!result.output.contains("wrong") && !result.output.contains("failed"), "\(result.output)")
        for line in result.output.split(separator: "\n") { #expect(line.count <= 79, "\(line)") }
        #expect(!result.output.contains("\u{1B}"), "no terminal, no colours")
        #expect(program.leftovers() == [])
    }

    @Test func `without a cgroup it says so and warns its runs, and needs no folder to write in`() throws {
        let arguments = ["--no-controls", "--no-cgroup", "--seconds", "4"]
        let program = try DemoProgram(arguments, environment: ["TMPDIR": "/nonexistent"])
        let result = program.result()
        #expect(result.code == 0, "\(result.output)")
        #expect(result.output.contains("(--no-cgroup was given)"))
        let rows = result.output.split(separator: "\n").compactMap { row -> (time: Double, row: Substring)? in
            row.prefixMatch(of: #/\s*(\d+\.\d) s /#).flatMap { Double($0.1) }.map { ($0, row) }
        }
        let stay = rows.filter { Run.neighbourStay.contains($0.time / 4) }
        #expect(stay.contains { $0.row.contains("warning") }, "the neighbour's stay is pressure: \(result.output)")
        #expect(program.leftovers() == [])
    }

    @Test func `controls are reported, whatever becomes of them`() throws {
        let result = try DemoProgram(["--seconds", "0.5"]).result()
        for contender in Contender.allCases { #expect(row(contender, result) != "", "\(result.output)") }
    }

    @Test func `a run too short to prove anything says so, and is no failure`() throws {
        let result = try DemoProgram(["--no-controls", "--limit", "2000", "--seconds", "0.5"]).result()
        #expect(result.code == 0)
        #expect(result.output.contains("prove nothing: memory was never short. Give more --seconds."))
        for contender in ours { #expect(row(contender, result).contains("not filled"), "\(result.output)") }
    }

    @Test func `the picture of a run is written where it was asked for`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "cache-demo-test-\(UUID()).svg").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = try DemoProgram(["--no-controls", "--seconds", "0.5", "--svg", path]).result()
        #expect(result.code == 0, "\(result.output)")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("<svg"))
        #expect(text.contains("memoryCache"))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP], [[], ["--no-cgroup"]])
    func `interrupted, it removes what it made`(signal: Int32, confinement: [String]) throws {
        let program = try DemoProgram(["--no-controls", "--seconds", "30"] + confinement)
        #expect(program.waits(for: "hits"))
        kill(program.process.processIdentifier, signal)
        let result = program.result()
        #expect(result.code == 128 + signal)
        #expect(!result.output.contains("killed by the kernel"), "we have, and nobody else")
        #expect(program.leftovers() == [])
    }

    @Test func `killed, it takes its children with it, and the next run removes its groups`() throws {
        let program = try DemoProgram(["--no-controls", "--seconds", "30"])
        #expect(program.waits(for: "hits"))
        kill(program.process.processIdentifier, SIGKILL)
        _ = program.result()
        // Children see the end of their pipe within moments; a minute is for machines that have no time for them.
        let deadline = ContinuousClock.now + .seconds(60)
        while program.leftovers().contains(where: { $0.hasPrefix("process") }), ContinuousClock.now < deadline {
            usleep(10_000)
        }
        #expect(!program.leftovers().contains { $0.hasPrefix("process") })
        // A process that is ending has no arguments any more, but is still in its group.
        while program.leftovers().contains(where: isInUse), ContinuousClock.now < deadline { usleep(10_000) }
        _ = try DemoProgram(["--no-controls", "--seconds", "0.2"]).result()
        #expect(program.leftovers() == [])
    }
}
