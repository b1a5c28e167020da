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
        abstract: "Measure MemoryCache and its peers in one sitting, and print one table for each kind of key.",
        discussion: """
            All requests and keys are made beforehand. Every round runs every implementation once; the table has the \
            medians of the rounds. Run it on a quiet machine; compare ratios within one table, not numbers of two.

            WORKLOADS. hit-100k and hit-1M: gets of so many keys, all of them held. The others hold 100,000 entries and \
            are asked for 1,000,000 keys: get-or-set sets what it missed; READS/WRITES, such as 90/10, are percentages \
            of gets and of sets that follow no miss. Most requests of Zipf's distribution (0.99) are for keys that \
            such a cache holds, one in ten of the uniform ones.

            KEYS. Integers have 64 bits (NSNumber for NSCache), strings 21 bytes (NSString), and a class has a number \
            that it hashes and compares. A string or an object that is looked up equals the stored key and is another \
            one, as where a key is made for each call; an NSNumber is the stored one. Java's strings keep their hash, \
            so Caffeine hashes none while the clock runs. It takes no class keys here.

            ALL MIXES. --workloads 100/0 90/10 75/25 50/50 --requests zipf uniform --keys integer \
            string class --threads 1 2 4 8

            THREADS. A second thread costs cache lines that another processor wrote last. MemoryCache writes: for a \
            lookup of integers none that others write, else 1 of a shard, and the entry's at its first use since it \
            came; for a value in place of another, 2 of a shard and the entry; for an insertion into a full cache, 5 \
            of a shard, 2 of the table, the entry, 2 neighbours in the queue, its ends, and 1 or 2 for what is \
            remembered of the evicted. Fetching a line takes about half of the round trip that is printed.
            """
    )

    @Option(help: "Rounds.")
    var rounds = 5

    @Option(help: ArgumentHelp("How long each run takes.", valueName: "ms"))
    var milliseconds = 100

    @Option(parsing: .upToNextOption, help: "Numbers of threads, 1 to \(RequestStore.mostThreads).")
    var threads = [1, 2, 4]

    @Option(
        parsing: .upToNextOption,
        help: "Workloads: hit-100k, hit-1M, get-or-set, READS/WRITES. (default: \(Self.usualWorkloads))"
    )
    var workloads: [String] = []

    @Option(parsing: .upToNextOption, help: "How often each key is asked for.")
    var requests = [RequestDistribution.zipf]

    @Option(parsing: .upToNextOption, help: "Kinds of keys.")
    var keys = [KeyKind.integer]

    @Option(parsing: .upToNextOption, help: "Implementations whose names begin like this. (default: all)")
    var only: [String] = []

    @Option(help: ArgumentHelp("Draw a chart.", valueName: "file"))
    var svg: String?

    @Flag(help: "Give each thread a cache of its own: what threads that share nothing reach on this machine.")
    var apart = false

    @Flag(inversion: .prefixedNo, help: "Measure bytes per entry too, of integer keys.")
    var bytes = true

    @Option(help: .private)
    var bytesOf: String?

    @Flag(help: .private)
    var churn = false

    private static let usualWorkloads = Workload.usual.map(\.name).joined(separator: " ")
    private var implementations: Implementations {
        Implementations(only: only, caches: apart ? threads.max() ?? 1 : 1)
    }

    func validate() throws {
        let most = RequestStore.mostThreads
        guard rounds > 0, milliseconds > 0, threads.allSatisfy({ (1...most).contains($0) }) else {
            throw ValidationError("Rounds and milliseconds are above 0, threads from 1 to \(most).")
        }
        for name in workloads where Workload.named(name) == nil {
            throw ValidationError("“\(name)” is no workload.")
        }
        for kind in keys where implementations.names(kind).isEmpty {
            throw ValidationError("No implementation to measure with \(kind.rawValue) keys is named so.")
        }
        if svg != nil, keys.unique.count > 1 { throw ValidationError("A chart shows one kind of keys.") }
    }

    func run() throws {
        if let bytesOf {
            return print((churn ? Implementations.bytesUnderChurn : Implementations.bytes)(bytesOf) ?? 0)
        }
        let chosen = workloads.isEmpty ? Workload.usual : workloads.compactMap(Workload.named).unique
        let measurements = chosen.flatMap { workload in
            requests.unique.flatMap { requests in
                threads.unique.map { Measurement(workload: workload.with(requests), threads: $0) }
            }
        }
        let streams = RequestStore(threads: threads.max() ?? 1)
        for kind in keys.unique { try measure(kind, measurements, streams) }
    }

    private func measure(_ kind: KeyKind, _ measurements: [Measurement], _ streams: RequestStore) throws {
        let sitting = Sitting(subjects: implementations.subjects(kind, streams), measurements: measurements)
        var table = ThroughputTable(
            keys: kind,
            names: sitting.subjects.map(\.name),
            measurements: measurements,
            medians: sitting.medians(rounds: rounds, milliseconds: milliseconds),
            yardstick: Implementations.dictionary
        )
        // In processes of their own, and after the clocks: memory is not in a hurry.
        if bytes, kind == .integer { table.measureBytes(of: sitting.subjects) }
        for subject in sitting.subjects { subject.finish() }
        print(table.text)
        if threads.contains(where: { $0 > 1 }) {
            let trip = RoundTrip.nanoseconds()
            let figure = trip < 10_000 ? trip.fixed(0) + " ns" : "not measured, the machine is busy"
            print("a cache line between two threads and back: \(figure)")
        }
        for figure in table.figures() { print(figure) }
        if let svg { try ThroughputChart(table: table).svg.write(toFile: svg, atomically: true, encoding: .utf8) }
    }
}

extension RequestDistribution: ExpressibleByArgument {}

extension KeyKind: ExpressibleByArgument {}
