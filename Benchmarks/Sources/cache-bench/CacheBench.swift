//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import Foundation

/// Measures caches against each other in one sitting: rounds go round all implementations, medians are compared.
@main
struct CacheBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache-bench",
        abstract: "Measure MemoryCache and its peers in one sitting, and print one table.",
        discussion: """
            Requests are Zipf-distributed (0.99) over 64-bit keys and made beforehand. Every round runs every \
            implementation once; the table has the medians of the rounds. Run it on a quiet machine; compare ratios \
            within one table, not numbers of two.
            """
    )

    @Option(help: "Rounds.")
    var rounds = 5

    @Option(help: ArgumentHelp("How long each run takes.", valueName: "ms"))
    var milliseconds = 100

    @Option(parsing: .upToNextOption, help: "Numbers of threads, 1 to 4.")
    var threads = [1, 2, 4]

    @Option(parsing: .upToNextOption, help: "Workloads: hit-100k, hit-1M, get-or-set, 50/50. (default: all)")
    var workloads: [String] = []

    @Option(parsing: .upToNextOption, help: "Implementations whose names begin like this. (default: all)")
    var only: [String] = []

    @Option(help: ArgumentHelp("Draw a chart.", valueName: "file"))
    var svg: String?

    @Flag(help: "Give each thread a cache of its own: what threads that share nothing reach on this machine.")
    var apart = false

    @Flag(inversion: .prefixedNo, help: "Measure bytes per entry too.")
    var bytes = true

    @Option(help: .private)
    var bytesOf: String?

    @Flag(help: .private)
    var churn = false

    static let product = "MemoryCache", nsCache = "NSCache (ours)", foundation = "Foundation.NSCache"
    static let dictionary = "Dictionary + Mutex", byHand = "LRU by hand", caffeine = "Caffeine (JVM)"

    func validate() throws {
        guard rounds > 0, milliseconds > 0, threads.allSatisfy({ (1...RequestStore.streams).contains($0) }) else {
            throw ValidationError("Rounds and milliseconds are above 0, threads from 1 to \(RequestStore.streams).")
        }
        for name in workloads where Workload(rawValue: name) == nil {
            throw ValidationError("“\(name)” is no workload.")
        }
    }

    func run() throws {
        if let bytesOf { return print((churn ? Self.bytesUnderChurn(of: bytesOf) : Self.bytes(of: bytesOf)) ?? 0) }
        let chosen = workloads.isEmpty ? Workload.allCases : workloads.compactMap(Workload.init)
        let measurements = chosen.flatMap { workload in
            threads.map { Measurement(workload: workload, threads: $0) }
        }
        let subjects = self.subjects()
        for subject in subjects {
            say("preparing \(subject.name)")
            for workload in chosen { subject.prepare(workload) }
            // Once unmeasured: page faults, and the JVM's compiler.
            for measurement in measurements {
                let warmUp = subject.name == Self.caffeine ? 300 : 20
                _ = subject.run(measurement.workload, threads: measurement.threads, milliseconds: warmUp)
            }
        }
        var samples: [Measurement: [String: [Double]]] = [:]
        for round in 1...rounds {
            say("round \(round) of \(rounds)")
            for measurement in measurements {
                for subject in subjects {
                    let value = subject.run(
                        measurement.workload,
                        threads: measurement.threads,
                        milliseconds: milliseconds
                    )
                    samples[measurement, default: [:]][subject.name, default: []].append(value)
                }
            }
        }
        var table = ThroughputTable(
            names: subjects.map(\.name),
            measurements: measurements,
            medians: samples.mapValues { $0.mapValues(\.median) },
            bytes: [:],
            yardstick: Self.dictionary
        )
        // In processes of their own, and after the clocks: memory is not in a hurry.
        if bytes {
            table.bytes = measureBytes(subjects)
            for name in [Self.product, Self.byHand] where subjects.contains(where: { $0.name == name }) {
                table.bytesUnderChurn[name] = ResidentBytes.measure(name, underChurn: true)
            }
        }
        for subject in subjects { subject.finish() }
        print(table.text)
        if threads.contains(where: { $0 > 1 }) {
            let trip = String(format: "%.0f", RoundTrip.nanoseconds())
            print("a cache line between two threads and back: \(trip) ns")
        }
        let figures = table.figures(
            product: Self.product,
            nsCache: Self.nsCache,
            foundation: Self.foundation,
            caffeine: Self.caffeine
        )
        for figure in figures { print(figure) }
        if let svg { try ThroughputChart(table: table).svg.write(toFile: svg, atomically: true, encoding: .utf8) }
    }

    private func subjects() -> [any Subject] {
        let requests = RequestStore()
        let caches = apart ? threads.max() ?? 1 : 1
        var subjects: [any Subject] = [
            SwiftSubject(Self.product, MemoryCacheSubject.self, requests, caches: caches),
            SwiftSubject(Self.dictionary, DictionarySubject.self, requests, caches: caches),
            SwiftSubject(Self.byHand, HandwrittenLRUSubject.self, requests, caches: caches),
            SwiftSubject(Self.nsCache, NSCacheSubject.self, requests, caches: caches),
            SwiftSubject(Self.foundation, FoundationNSCacheSubject.self, requests, caches: caches),
        ]
        func isWanted(_ name: String) -> Bool { only.isEmpty || only.contains { name.hasPrefix($0) } }
        subjects.removeAll { !isWanted($0.name) }
        if isWanted(Self.caffeine) {
            do throws(CaffeineSubject.Skipped) {
                subjects.append(try CaffeineSubject(folder: Self.folder))
            } catch { say("Caffeine skipped: \(error.reason)") }
        }
        return subjects
    }

    /// The package's folder.
    private static var folder: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private func measureBytes(_ subjects: [any Subject]) -> [String: Double] {
        var bytes: [String: Double] = [:]
        for subject in subjects {
            say("bytes per entry of \(subject.name)")
            bytes[subject.name] = (subject as? CaffeineSubject)?.bytesPerEntry() ?? ResidentBytes.measure(subject.name)
        }
        return bytes
    }

    private static func bytes(of name: String) -> Double? {
        switch name {
        case product: ResidentBytes.fill(MemoryCacheSubject.self)
        case dictionary: ResidentBytes.fill(DictionarySubject.self)
        case byHand: ResidentBytes.fill(HandwrittenLRUSubject.self)
        case nsCache: ResidentBytes.fill(NSCacheSubject.self)
        case foundation: ResidentBytes.fill(FoundationNSCacheSubject.self)
        default: nil
        }
    }

    private static func bytesUnderChurn(of name: String) -> Double? {
        switch name {
        case product: ResidentBytes.churn(MemoryCacheSubject.self)
        case byHand: ResidentBytes.churn(HandwrittenLRUSubject.self)
        default: nil
        }
    }

    private func say(_ line: String) { try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8)) }
}
