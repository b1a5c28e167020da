//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation

/// The command line. Every flag has a default: none is needed.
struct DemoOptions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache-demo",
        abstract:
            "Fetches thumbnails over HTTP through five kinds of cache while memory is short, and says which survived.",
        discussion: """
            An origin server on 127.0.0.1 paints thumbnails. Five child processes fetch the same stream of them: two \
            controls that keep everything in a dictionary and in Foundation's NSCache, and three of this package: \
            MemoryCache, PurgeableCache, and NSCache with NSPurgeableData. Each runs in a memory cgroup of its own \
            where one may be made (root, or a delegated cgroup), and midway a neighbour in the same cgroup takes \
            memory for some seconds.

            Exit codes: 0 our runs survived with no wrong byte (or ended before memory was short, which is said); \
            1 they did not; 64 a flag that cannot be obeyed; 66 a trace that cannot be read.
            """
    )

    @Option(help: ArgumentHelp("Memory that each run may use.", valueName: "bytes"))
    var limit = ByteCount.mebibytes(256)
    @Option(help: ArgumentHelp("Memory that the neighbour takes midway.", valueName: "bytes"))
    var neighbour = ByteCount.mebibytes(100)
    @Option(help: "Seconds that each run lasts, at most.")
    var seconds = 12.0
    @Option(help: "Requests of each run, at most; as many as fit by default.")
    var requests: Int?
    @Option(help: ArgumentHelp("What the origin waits before it paints.", valueName: "ms"))
    var latency = 2.0
    @Option(help: "Where pictures and requests come from: the same seed, the same run.")
    var seed: UInt64 = 42
    @Option(help: "Port of the origin on 127.0.0.1; 0 is any free one.")
    var port: UInt16 = 0
    @Option(help: "Zipf exponent of the requests: 0 is uniform, 1 is steep.")
    var zipf = 0.9
    @Option(help: "Different thumbnails at the origin.")
    var catalogue = 20_000
    @Option(help: ArgumentHelp("Requests from a trace instead (plain, gzip, zstd).", valueName: "file"))
    var trace: String?
    @Option(help: "Concurrent requests, and connections, of each run.")
    var connections = 8
    @Flag(help: "Leave the two controls out.")
    var noControls = false
    @Flag(help: "Make no cgroup: run under whatever limit is in force, with the pressure signal given by hand.")
    var noCgroup = false
    @Flag(help: "Print one JSON document and nothing else on standard output.")
    var json = false
    @Option(help: ArgumentHelp("Draw the run into an SVG file.", valueName: "file"))
    var svg: String?

    /// What a run's process needs before it has cached anything, the room that the kernel wants for its own work
    /// included. Measured: the runs of this package survive with 100 MiB of neighbour and 160 MiB of limit.
    static let floor = ByteCount.mebibytes(64)

    /// Refuses what cannot be obeyed, in one line that says what to do.
    func validate() throws {
        func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
            if !condition { throw ValidationError(message()) }
        }
        let least = ByteCount(neighbour.bytes + Self.floor.bytes)
        try require(
            limit.bytes >= least.bytes,
            "--limit \(limit) is less than the process (\(Self.floor)) and its neighbour (\(neighbour)) need; "
                + "give at least --limit \(least.defaultValueDescription), or a smaller --neighbour"
        )
        try require(seconds > 0 && seconds <= 3600, "--seconds \(seconds) must be more than 0 and at most 3600")
        try require(requests ?? 1 > 0, "--requests must be 1 or more")
        try require(latency >= 0 && latency <= 10_000, "--latency \(latency) must be from 0 to 10000 milliseconds")
        try require(zipf >= 0 && zipf <= 3, "--zipf \(zipf) must be from 0 to 3")
        try require((1...1_000_000).contains(catalogue), "--catalogue \(catalogue) must be from 1 to 1000000")
        try require((1...64).contains(connections), "--connections \(connections) must be from 1 to 64")
        if let svg {
            let folder = URL(fileURLWithPath: svg).deletingLastPathComponent().path
            try require(
                FileManager.default.isWritableFile(atPath: folder),
                "--svg \(svg) cannot be written, for \(folder) is not a folder to write in; choose another path"
            )
        }
    }

    /// What no flag at all means.
    static var defaults: DemoOptions { get throws { try parse([]) } }

    /// The contenders, controls first: their fate is the question that ours answer.
    var contenders: [Contender] { Contender.allCases.filter { $0.isOurs || !noControls } }
}
