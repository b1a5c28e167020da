//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

@testable import CacheSimulation

@Suite("Plans and reports")
struct ReportTests {
    static let unit = Trace(name: "unit", TraceGenerator(.zipf(exponent: 0.9), keys: 100, seed: 1).prefix(2000))
    static let sized = Trace(
        name: "a<b>,\"c\"",
        TraceGenerator(.zipf(exponent: 0.9), keys: 100, sizes: .spread(smallest: 10, largest: 90), seed: 1).prefix(2000)
    )

    @Test("Results stand in the order of the plan, whatever the number of jobs", arguments: [1, 3])
    func order(jobs: Int) async throws {
        let plan = SimulationPlan(policies: [.lru, .fifo], sizes: [.amount(10), .amount(5)])
        let report = try await plan.run(over: Self.unit, jobs: jobs)
        #expect(report.capacities == [10, 5])
        #expect(report.results.prefix(4).map(\.policy) == [.lru, .fifo, .lru, .fifo])
        #expect(report.results.prefix(4).map(\.capacity) == [10, 10, 5, 5])
        let alone = Simulation.run(.lru, over: Self.unit, capacity: 5)
        #expect(report.result(.lru, capacity: 5) == alone)
    }

    @Test("The advice says what twice and half of a limit do")
    func advice() async throws {
        let report = try await SimulationPlan(policies: [.lru], sizes: [.amount(20)]).run(over: Self.unit)
        func misses(_ capacity: Int) -> Double {
            100 * Simulation.run(.lru, over: Self.unit, capacity: capacity).missRatio
        }
        let saved = Quantity.fixed(misses(20) - misses(40), decimals: 1)
        let lost = Quantity.fixed(misses(10) - misses(20), decimals: 1)
        let line = try #require(report.advice(.misses).first)
        #expect(line.contains("20 entries: LRU misses"))
        #expect(line.contains("doubling to 40 entries would save \(saved) points"))
        #expect(line.contains("halving to 10 entries would cost \(lost) points"))
    }

    @Test("Columns are aligned")
    func alignment() async throws {
        let plan = SimulationPlan(sizes: [.share(0.01), .share(0.5)])
        let text = try await plan.run(over: Self.unit, jobs: 2).text(.misses)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.dropFirst().prefix { !$0.isEmpty }
        #expect(rows.count == 2 + SimulatedPolicy.all(sized: false, costs: false).count)
        #expect(Set(rows.map(\.count)).count == 1)
    }

    @Test("CSV has a line for each simulation, and quotes names that need it")
    func csv() async throws {
        let plan = SimulationPlan(policies: [.memoryCache, .lru], sizes: [.share(0.1)], costs: .a)
        let report = try await plan.run(over: Self.sized)
        let lines = report.csv().split(separator: "\n")
        #expect(lines.count == 1 + report.results.count)
        #expect(lines[1].hasPrefix("\"a<b>,\"\"c\"\"\",MemoryCache,"))
    }

    @Test("A chart is well-formed and escapes names")
    func chart() async throws {
        let plan = SimulationPlan(policies: [.lru, .belSize], sizes: [.share(0.1), .share(0.2)])
        let svg = MissRatioChart([try await plan.run(over: Self.sized), try await plan.run(over: Self.unit)]).svg
        #expect(svg.contains("a&lt;b&gt;,&quot;c&quot;"))
        // No coordinate is one of the numbers that are written as "–".
        #expect(svg.firstMatch(of: #/="[^"]*–/#) == nil)
        let opened = svg.split(separator: "<g ").count - 1
        #expect(opened == 2 && svg.split(separator: "</g>").count - 1 == 2)
    }

    @Test("Words are escaped by scalars, and what XML forbids is left out")
    func escaping() {
        #expect(
            SVG.text("a<\u{301}\u{7}\t&\u{FFFF}", 1, 2, "b")
                == "<text x=\"1\" y=\"2\" class=\"b\">a&lt;\u{301}\t&amp;</text>"
        )
    }

    @Test("A plan that does not go with its trace says why")
    func planErrors() async {
        await #expect(throws: SimulationPlan.PlanError.bytesWithoutSizes(size: .bytes(64_000_000), trace: "unit")) {
            try await SimulationPlan(sizes: [.bytes(64_000_000)]).run(over: Self.unit)
        }
        await #expect(throws: SimulationPlan.PlanError.noCosts(trace: "unit")) {
            try await SimulationPlan(costs: .trace).run(over: Self.unit)
        }
    }

    @Test("A summary needs FIFO and several reports of one plan")
    func summary() async throws {
        let plan = SimulationPlan(policies: [.fifo, .lru, .belSize], sizes: [.share(0.1)])
        let reports = [try await plan.run(over: Self.unit), try await plan.run(over: Self.sized)]
        let summary = try #require(SimulationSummary(reports))
        #expect(summary.meanReduction(.fifo) == [0])
        #expect(summary.worstAgainstLRU(.lru) == 1)
        let saved = reports.map { report in
            100 * (1 - Double(report.results[1].misses) / Double(report.results[0].misses))
        }
        #expect(abs(summary.meanReduction(.lru)[0] - (saved[0] + saved[1]) / 2) < 1e-9)
        #expect(SimulationSummary([reports[0]]) == nil)
    }

    @Test(
        "Sizes are read as people write them",
        arguments: [
            ("1%", CacheSize.share(0.01)), ("0.1 %", .share(0.001)), ("64MB", .bytes(64_000_000)),
            ("64MiB", .bytes(64 << 20)), ("1.5kB", .bytes(1500)), ("512b", .bytes(512)), ("1000", .amount(1000)),
        ]
    )
    func sizes(text: String, size: CacheSize) { #expect(CacheSize(text) == size) }

    @Test(
        "What is no size is none",
        arguments: ["", "%", "0", "-1", "1.5", "1XB", "MB", "0%", "nan", "1e3", "99999999999TB", "1%%", "٣"]
    )
    func badSizes(text: String) { #expect(CacheSize(text) == nil) }

    @Test("Cost models are the same everywhere")
    func costModels() {
        // u is the top 53 bits of SplitMix64's first number from the seed key ^ 0xC057.
        var generator = SeededGenerator(seed: 42 ^ 0xC057)
        let fraction = generator.fraction()
        let trace = Trace(name: "", [TraceRequest(key: 42, size: 100), TraceRequest(key: 43, size: 300)])
        let a = IndexedTrace(trace, costs: .a).costs[0]
        #expect(abs(a - expected(1000, fraction)) < 1e-9 * a)
        let b = IndexedTrace(trace, costs: .b).costs[0]
        #expect(abs(b - 100 * expected(0.5, 0.8) * expected(10, fraction - 0.5)) < 1e-9 * b)
        #expect(IndexedTrace(trace, costs: .none).costs == [1, 1])
    }

    private func expected(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
}
