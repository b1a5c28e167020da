//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import CacheSimulation
import Foundation

/// Replays logs of requests through cache policies and says what limit buys what.
@main
struct CacheSim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache-sim",
        abstract: "Replay a log of requests through a cache and see what limit buys what."
    )

    @Argument(help: ArgumentHelp("Logs of requests, plain or compressed.", valueName: "trace"))
    var traces: [String]

    @Option(name: .shortAndLong, parsing: .singleValue, help: "A cache size: 1%, 64MB, 64MiB or a count.")
    var size: [String] = []

    @Option(name: .shortAndLong, parsing: .singleValue, help: "A policy, or all.")
    var policy: [String] = ["all"]

    @Option(help: "What misses cost: none, A, B or trace.", transform: Self.costModel)
    var cost: CostModel = .none

    @Option(help: "The traces' format.", transform: Self.traceFormat)
    var format: TraceFormat = .automatic

    @Flag(help: "CSV instead of tables.")
    var csv = false

    @Option(name: .shortAndLong, help: "How many simulations run at a time.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    static func costModel(_ text: String) throws -> CostModel {
        guard let model = CostModel.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() }) else {
            throw ValidationError("“\(text)” is no cost model")
        }
        return model
    }

    static func traceFormat(_ text: String) throws -> TraceFormat {
        guard let format = TraceFormat(rawValue: text) else { throw ValidationError("“\(text)” is no format") }
        return format
    }

    func run() async throws {
        var plan = SimulationPlan(costs: cost)
        if !size.isEmpty { plan.sizes = size.compactMap(CacheSize.init) }
        if policy != ["all"] {
            plan.policies = policy.compactMap { name in
                SimulatedPolicy.allCases.first { $0.rawValue.lowercased() == name.lowercased() }
            }
        }
        var heading = true
        for path in traces {
            let trace = try Trace(contentsOf: path, format: format)
            let report = try await plan.run(over: trace, jobs: jobs)
            print(
                csv ? report.csv(heading: heading) : report.text(cost == .none ? .misses : .cost),
                terminator: csv ? "" : "\n"
            )
            heading = false
        }
    }
}
