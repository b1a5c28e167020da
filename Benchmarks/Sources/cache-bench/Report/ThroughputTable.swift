//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport

/// One row: a workload with a number of threads.
struct Measurement: Hashable {
    let workload: Workload
    let threads: Int

    /// Zipf's distribution is named only where another stands beside it.
    func title(namingZipf: Bool) -> String {
        let requests = namingZipf || workload.requests != .zipf ? " \(workload.requests.rawValue)" : ""
        return "\(workload.name)\(requests), \(threads) \(threads == 1 ? "thread" : "threads")"
    }
}

/// All medians of a sitting, as one aligned table.
struct ThroughputTable {
    let keys: KeyKind
    let names: [String]
    let measurements: [Measurement]
    let medians: [Measurement: [String: Double]]
    var bytes: [String: Double] = [:]
    /// The same of caches that are full and evict, with what they remember of the evicted.
    var bytesUnderChurn: [String: Double] = [:]
    /// What the ratios are to.
    let yardstick: String

    /// A row a workload, a column an implementation; behind each figure its ratio to the yardstick.
    var text: String {
        let heading = "Mops/s (× \(yardstick))"
        var rows = [[keys == .integer ? heading : "\(keys.rawValue) keys, \(heading)"] + names]
        let namesZipf = measurements.contains { $0.workload.requests != .zipf }
        for measurement in measurements {
            let cells = names.map { name in
                guard let value = medians[measurement]?[name] else { return "–" }
                let base = medians[measurement]?[yardstick] ?? 0
                let ratio = base > 0 ? (value / base).fixed() : "–"
                return "\(Self.number(value)) (\(ratio))"
            }
            rows.append([measurement.title(namingZipf: namesZipf)] + cells)
        }
        if !bytes.isEmpty {
            let cells = names.map { name in bytes[name].map { $0.fixed(1) } ?? "–" }
            rows.append(["bytes/entry, payload of 16 in it"] + cells)
        }
        if !bytesUnderChurn.isEmpty {
            let cells = names.map { name in bytesUnderChurn[name].map { $0.fixed(1) } ?? "–" }
            rows.append(["the same, full and evicting"] + cells)
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == 0 ? cell.padded(to: widths[column]) : cell.indented(to: widths[column])
            }.joined(separator: "  ")
        }.joined(separator: "\n") + "\n"
    }

    /// Measures `bytes` and `bytesUnderChurn`.
    mutating func measureBytes(of subjects: [any Subject]) {
        for subject in subjects {
            say("bytes per entry of \(subject.name)")
            bytes[subject.name] = (subject as? CaffeineSubject)?.bytesPerEntry() ?? ResidentBytes.measure(subject.name)
        }
        for name in [Implementations.product, Implementations.byHand] where bytes[name] != nil {
            bytesUnderChurn[name] = ResidentBytes.measure(name, underChurn: true)
        }
    }

    /// The figures that the design asks for, each in a line. They are for integers.
    func figures() -> [String] {
        guard keys == .integer else { return [] }
        let product = Implementations.product, caffeine = Implementations.caffeine
        let nsCache = Implementations.nsCache, foundation = Implementations.foundation
        func figure(_ workload: Workload, _ threads: Int, _ name: String) -> Double? {
            medians[Measurement(workload: workload, threads: threads)]?[name]
        }
        func ratio(_ workload: Workload, _ threads: Int, _ one: String, _ other: String) -> Double? {
            guard let a = figure(workload, threads, one), let b = figure(workload, threads, other), b > 0 else {
                return nil
            }
            return a / b
        }
        func scaling(_ workload: Workload) -> Double? {
            guard let two = figure(workload, 2, product), let one = figure(workload, 1, product) else { return nil }
            return two / one
        }
        let lines: [(String, Double?, Double)] = [
            ("hit, 100k keys, 1 thread, × \(yardstick)", ratio(.hit100k, 1, product, yardstick), 1),
            ("hit, 100k keys, 2 threads, × \(yardstick)", ratio(.hit100k, 2, product, yardstick), 2.5),
            ("hit, 1M keys, 1 thread, × \(yardstick)", ratio(.hit1M, 1, product, yardstick), 0.8),
            ("get-or-set, 100k of 1M, 1 thread, × \(caffeine)", ratio(.getOrSet, 1, product, caffeine), 2.5),
            ("get-or-set, 2 threads, × own 1 thread", scaling(.getOrSet), 1.5),
            ("hit, 100k keys, 1 thread, \(nsCache) × \(foundation)", ratio(.hit100k, 1, nsCache, foundation), 5),
        ]
        return lines.compactMap { title, value, goal in
            guard let value else { return nil }
            let verdict = value >= goal ? "reached" : "NOT reached"
            return "\(title): \(value.fixed()) (at least \(goal)): \(verdict)"
        }
    }

    static func number(_ value: Double) -> String { value.fixed(value < 10 ? 2 : 1) }
}
