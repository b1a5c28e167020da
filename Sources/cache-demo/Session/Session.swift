//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching

/// The demo from its first line to its verdict: origin, confinement, one run after the other, chart.
struct Session {
    let options: CacheDemo

    /// True if our runs survived with no wrong byte.
    func run() async throws -> Bool {
        let signals = await Cleanup.handleSignals()
        defer { withExtendedLifetime(signals) {} }
        let origin = try await OriginServer()
        let confinement = options.noCgroup ? .none(reason: "--no-cgroup was given") : await Confinement.find()
        let limit = options.limit << 20
        let screen = Screen(limitBytes: limit)
        screen.begin(Self.introduction(options, port: origin.port, confinement))

        var records: [RunRecord] = []
        for contender in options.contenders {
            let order = RunOrder(
                contender: contender,
                group: try confinement.makeGroup(contender.rawValue, limit: limit),
                port: origin.port,
                seed: options.seed,
                seconds: options.seconds,
                burstBytes: limit / 4
            )
            let run = Run(order: order, limitBytes: limit, neighbourBytes: options.neighbour << 20, screen: screen)
            records.append(try await run.record())
            screen.end(records[records.count - 1])
        }

        let verdict = Verdict(records, limitBytes: limit)
        screen.finish(verdict)
        if let path = options.svg {
            let chart = Chart(records, limitBytes: limit, conclusion: verdict.conclusion)
            try chart.svg.write(toFile: path, atomically: true, encoding: .utf8)
        }
        return verdict.success
    }

    /// The lines that a session begins with.
    static func introduction(_ options: CacheDemo, port: UInt16, _ confinement: Confinement) -> [String] {
        let (from, until) = (Run.neighbourStay.lowerBound * 100, Run.neighbourStay.upperBound * 100)
        return [
            "origin     http://127.0.0.1:\(port), thumbnails of 2 to 200 KB, latency \(OriginServer.latency) ms",
            "requests   Zipf 0.9 over \(Thumbnail.catalogue.grouped) different ones (2 GB), seed \(options.seed), "
                + "\(Runner.workers) at a time",
        ] + confinement.words(limit: options.limit) + [
            "neighbour  takes \(options.neighbour) MiB beside each run, from \(Int(from)) % of it to \(Int(until)) %",
            "burst      at \(Int(Runner.burstTime * 100)) % the run itself takes \(options.limit / 4) MiB at once, "
                + "as a decoder does",
            "           (ours announce it by MemoryReserve.withFree, controls do not)",
            "bars       █ kept  ▒ purgeable  ▓ the burst  ░ the neighbour, of \(options.limit) MiB",
        ]
    }
}

extension Confinement {
    fileprivate func words(limit: Int) -> [String] {
        switch self {
        case .groups(_, let isVersion1):
            ["memory     each run in a cgroup (v\(isVersion1 ? 1 : 2)) of its own, \(limit) MiB, no swap"]
        case .none(let reason):
            [
                "memory     no cgroup, whatever limit is in force; the demo warns of pressure",
                // However long the path in it: 80 columns are not exceeded.
                String("           (\(reason))".prefix(77)),
            ]
        }
    }
}
