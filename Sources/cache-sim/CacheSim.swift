//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import CacheSimulation
import Foundation

/// Replays logs of requests through caches and says what limit buys what.
@main
struct CacheSim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache-sim",
        abstract: "Replay a log of what was asked for, and see what cache limit buys what.",
        usage: "cache-sim TRACE... [--size SIZE]... [--policy POLICY]... [--cost MODEL] [--csv] [--svg FILE]",
        discussion: """
            A trace is a list of requests in their order, such as an access log. Write one as lines of \
            “key[,size[,cost]]”: the key may be any text, the size is the value's in bytes, the cost what it took to \
            make it. Also read are records of a 64-bit key and a 32-bit size (little-endian), ARC and LIRS block \
            traces and libCacheSim's oracleGeneral; gzip and Zstandard are unpacked.

            Traces with sizes are replayed with limits in bytes, others with limits in entries. MemoryCache is this \
            package's cache, through its public interface; the others are what is published, Belady and BelSize what \
            could be done by knowing the future.

            EXAMPLES
              cache-sim access.csv --size 64MB --size 256MB
              cache-sim access.csv.gz --svg curves.svg
              cache-sim a.trace.gz b.trace.gz -s 1% -p MemoryCache -p LRU --cost A

            EXIT STATUS
              0 if all went well, 64 if the command line makes no sense, 66 if a trace cannot be read.
            """
    )

    @Argument(help: ArgumentHelp("Logs of requests.", valueName: "trace"))
    var traces: [String] = []

    @Option(
        name: .shortAndLong,
        parsing: .singleValue,
        help: ArgumentHelp(
            "How large the cache is: 1% of all that the trace asks for, 64MB, 64MiB, or a count of entries. May be "
                + "given several times. (default: 0.1%, 1%, 10%)",
            valueName: "size"
        ),
        transform: Words.size
    )
    var size: [CacheSize] = []

    @Option(
        name: .shortAndLong,
        parsing: .singleValue,
        help: ArgumentHelp(
            "all, or one of \(Words.policies). May be given several times. (default: all)",
            valueName: "policy"
        ),
        transform: Words.policy
    )
    var policy: [SimulatedPolicy?] = []

    @Option(
        help: ArgumentHelp(
            "What misses cost: none (all the same), A (1 to 1000, whatever the size), B (growing with size) or trace "
                + "(what the trace says).",
            valueName: "model"
        ),
        transform: Words.cost
    )
    var cost: CostModel = .none

    @Option(
        help: ArgumentHelp(
            "What to count: misses, hits, bytes (missed) or cost (of misses). (default: cost with a cost model, "
                + "else misses)",
            valueName: "metric"
        ),
        transform: Words.metric
    )
    var metric: SimulationReport.Metric?

    @Option(
        help: ArgumentHelp("The traces' format: \(Words.formats).", valueName: "format"),
        transform: Words.format
    )
    var format: TraceFormat = .automatic

    @Flag(help: "Write CSV, a line for each simulation, instead of tables.")
    var csv = false

    @Option(
        help: ArgumentHelp(
            "Draw miss-ratio curves; without --size, at nine sizes from 0.1% to 50%.",
            valueName: "file"
        )
    )
    var svg: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("How many simulations run at a time.", valueName: "count"))
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    func validate() throws {
        if traces.isEmpty { throw ValidationError("Name at least one trace.") }
        if jobs < 1 { throw ValidationError("--jobs must be at least 1.") }
    }

    func run() async throws {
        let plan = SimulationPlan(policies: policies, sizes: sizes, costs: cost)
        let metric = metric ?? (cost == .none ? .misses : .cost)
        var reports: [SimulationReport] = []
        for path in traces {
            let report = try await report(on: path, plan)
            print(csv ? report.csv(heading: reports.isEmpty) : report.text(metric), terminator: csv ? "" : "\n")
            reports.append(report)
        }
        if !csv, let summary = SimulationSummary(reports) { print(summary.text) }
        if let svg { try write(MissRatioChart(reports, metric: metric).svg, to: svg) }
    }

    /// Reads one trace and runs the plan over it.
    private func report(on path: String, _ plan: SimulationPlan) async throws -> SimulationReport {
        let name = (path as NSString).lastPathComponent
        let progress = ProgressLine()
        defer { progress.clear() }
        do {
            let trace = try Trace(contentsOf: path, format: format) { progress.show(name, requests: $0) }
            return try await plan.run(over: trace, jobs: jobs) { progress.show(name, share: $0) }
        } catch let error as TraceError {
            progress.clear()
            throw Failure.say(error.description, status: 66)
        } catch let error as SimulationPlan.PlanError {
            progress.clear()
            throw Failure.say(error.description, status: 64)
        }
    }

    private func write(_ text: String, to path: String) throws {
        do {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        } catch {
            throw Failure.say("\(path): cannot be written; check the folder and its permissions", status: 73)
        }
    }

    /// Nil is all.
    private var policies: [SimulatedPolicy]? {
        policy.isEmpty || policy.contains(nil) ? nil : policy.compactMap(\.self)
    }

    private var sizes: [CacheSize] {
        if !size.isEmpty { return size }
        let shares = svg == nil ? [0.001, 0.01, 0.1] : [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
        return shares.map { .share($0) }
    }
}
