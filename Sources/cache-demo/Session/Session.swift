//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The demo from its first line to its verdict: origin, confinement, one run after the other, reports.
struct Session {
    private let options: DemoOptions

    /// Requests that are made up or read in advance: more than any run gets through, 6 MB in each child. A run that
    /// comes to the end begins anew.
    static let streamLength = 500_000

    init(_ options: DemoOptions) { self.options = options }

    /// True if our runs survived with no wrong byte.
    func run() async throws -> Bool {
        let stream = try requests()
        let display = makeDisplay(options)
        let signals = Interruption.install { display.restore() }
        defer { withExtendedLifetime(signals) {} }
        let origin = try await OriginServer(
            port: options.port,
            seed: options.seed,
            latency: .milliseconds(options.latency)
        )
        let confinement =
            options.noCgroup ? .none(reason: "--no-cgroup was given") : Confinement.find(limit: options.limit.bytes)
        let distinct = stream.distinct
        let setting = Setting(options, port: origin.port, confinement: confinement, distinct: distinct)
        display.begin(setting)

        let wire = stream.wire
        var records: [RunRecord] = []
        for contender in options.contenders {
            let group = try confinement.makeGroup("\(contender.rawValue)")
            let order = WorkloadOrder(
                contender: contender,
                group: group,
                pressureByHand: group == nil,
                port: origin.port,
                seed: options.seed,
                workers: options.connections,
                seconds: options.seconds,
                requests: options.requests,
                streamLength: stream.thumbnails.count
            )
            let run = Run(
                order: order,
                stream: wire,
                neighbourBytes: options.neighbour.bytes,
                limitBytes: group == nil ? nil : options.limit.bytes,
                display: display
            )
            let record = try await run.record()
            records.append(record)
            display.end(record)
        }
        await origin.stop()

        let verdict = Verdict(records, setting: setting)
        display.finish(verdict)
        if let path = options.svg {
            try Chart(records, setting: setting).svg(verdict).write(toFile: path, atomically: true, encoding: .utf8)
        }
        if options.json { print(try JSONReport(setting: setting, runs: records, verdict: verdict).text) }
        return verdict.success
    }

    private func requests() throws -> RequestStream {
        guard let path = options.trace else {
            return .zipf(
                count: Self.streamLength,
                catalogue: options.catalogue,
                exponent: options.zipf,
                seed: options.seed
            )
        }
        return try .trace(path, count: Self.streamLength, seed: options.seed)
    }
}
