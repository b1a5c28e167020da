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
            A trace is a list of requests in their order. Read are:
              - access logs of nginx and Apache, in the common and the combined format
              - CSV with a heading, and JSON lines: --key-column, --size-column, … name what to take
              - lines of “key[,size[,cost]]”: the key is any text, the size the value's in bytes, the cost what it \
            took to make it
              - records of a 64-bit key and a 32-bit size (little-endian), ARC and LIRS block traces, and \
            libCacheSim's oracleGeneral
            gzip and Zstandard are unpacked. What was taken for the key is printed, with examples.

            Traces with sizes are replayed with limits in bytes, others with limits in entries. MemoryCache is this \
            package's cache, through its public interface; the others are what is published, Belady and BelSize what \
            could be done by knowing the future.

            EXAMPLES
              cache-sim /var/log/nginx/access.log --size 64MB --size 256MB
              cache-sim requests.csv.gz --key-column url --size-column bytes --svg curves.svg
              cache-sim a.trace.gz b.trace.gz -s 1% -p MemoryCache -p LRU --cost A

            EXIT STATUS
              0 if all went well, 64 if the command line makes no sense, 65 if a file holds no trace that says \
            something, 66 if a file cannot be opened or unpacked.
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

    @Option(help: ArgumentHelp("The column or JSON field with the key, such as url.", valueName: "name"))
    var keyColumn: String?

    @Option(help: ArgumentHelp("The column or JSON field with the value's size in bytes.", valueName: "name"))
    var sizeColumn: String?

    @Option(help: ArgumentHelp("The column or JSON field with what the value costs to make.", valueName: "name"))
    var costColumn: String?

    @Option(
        help: ArgumentHelp(
            "The column or JSON field with the time (a number or ISO 8601), to put requests in order.",
            valueName: "name"
        )
    )
    var timeColumn: String?

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
        var isAnyLeftOut = false
        for path in traces {
            guard let report = try await report(on: path, plan) else {
                isAnyLeftOut = true
                continue
            }
            print(csv ? report.csv(heading: reports.isEmpty) : report.text(metric), terminator: csv ? "" : "\n")
            reports.append(report)
        }
        if !csv, let summary = SimulationSummary(reports) { print(summary.text) }
        if let svg, !reports.isEmpty { try write(MissRatioChart(reports, metric: metric).svg, to: svg) }
        if isAnyLeftOut { throw ExitCode(65) }
    }

    /// Reads one trace and runs the plan over it; nil, with a warning, where no cache could do anything.
    private func report(on path: String, _ plan: SimulationPlan) async throws -> SimulationReport? {
        let name = (path as NSString).lastPathComponent
        let progress = ProgressLine()
        defer { progress.clear() }
        do {
            let columns = TraceColumns(key: keyColumn, size: sizeColumn, cost: costColumn, time: timeColumn)
            let trace = try Trace(contentsOf: path, format: format, columns: columns) {
                progress.show(name, requests: $0)
            }
            progress.clear()
            if let interpretation = trace.interpretation { say("\(name): \(interpretation)") }
            let keys = trace.keyCount
            // Every first request for a key misses, so this is the best that any cache can do.
            let best = 1 - Double(keys) / Double(trace.count)
            if best < Self.leastHits {
                _ = Failure.say(Words.differingKeys(path, requests: trace.count, keys: keys), status: 65)
                return nil
            }
            return try await plan.run(over: trace, jobs: jobs) { progress.show(name, share: $0) }
        } catch let error as TraceError {
            progress.clear()
            throw Failure.say(error.description, status: error.isAboutContent ? 65 : 66)
        } catch let error as SimulationPlan.PlanError {
            progress.clear()
            throw Failure.say(error.description, status: 64)
        }
    }

    /// Fewer hits than this say nothing about limits; more likely the key is not what was meant.
    private static let leastHits = 0.05

    /// Beside tables it is part of the output; CSV is left to programs.
    private func say(_ text: String) {
        if csv { Failure.write(text) } else { print(text, terminator: "") }
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
