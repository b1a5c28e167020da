//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation

/// The command line: every flag has a default, so none is needed.
///
/// The same program is also its own children (see ``ChildOrder``), so that each kind of cache lives and dies in a
/// process, and a memory cgroup, of its own:
///
///     cache-demo ── origin server on 127.0.0.1, screen, chart         (no limit)
///       ├─ run: Dictionary ─────────── neighbour, 100 MiB             (cgroup, 256 MiB)
///       ├─ run: Foundation.NSCache ─── neighbour                      (another one)
///       ├─ run: MemoryCache ────────── neighbour
///       ├─ run: PurgeableCache ─────── neighbour
///       └─ run: NSCache, NSPurgeableData ── neighbour
@main
struct CacheDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache-demo",
        abstract:
            "Fetches thumbnails over HTTP through five kinds of cache while memory is short, and says which survived.",
        discussion: """
            An origin server on 127.0.0.1 serves thumbnails. Five child processes fetch the same stream of them: two \
            controls that keep everything in a dictionary and in Foundation's NSCache, and three of this package: \
            MemoryCache, PurgeableCache, and NSCache with NSPurgeableData. Each runs in a memory cgroup of its own \
            where one may be made (root, or a delegated cgroup). Midway a neighbour in the same cgroup takes memory \
            for some seconds, and in that time the process itself takes a quarter of the limit at once, for a moment, \
            as one that decodes a picture does.

            Exit codes: 0 our runs survived with no wrong byte (or ended before memory was short, which is said); \
            1 they did not; 64 a flag that cannot be obeyed.
            """
    )

    @Option(help: ArgumentHelp("Memory that each run may use.", valueName: "MiB"))
    var limit = 256
    @Option(help: ArgumentHelp("Memory that the neighbour takes midway.", valueName: "MiB"))
    var neighbour = 100
    @Option(help: "Seconds that each run lasts.")
    var seconds = 12.0
    @Option(help: "Where thumbnails and requests come from: the same seed, the same run.")
    var seed: UInt64 = 42
    @Flag(help: "Leave the two controls out.")
    var noControls = false
    @Flag(
        help: """
            Make no cgroup: run under whatever limit is in force. The demo warns its runs as systemd would, and they \
            hear that in place of the kernel's memory.pressure.
            """
    )
    var noCgroup = false
    @Option(help: ArgumentHelp("Draw the run into an SVG file.", valueName: "file"))
    var svg: String?
    /// What a child of this program is to do.
    @Option(help: .hidden)
    var child: String?

    /// MiB that a run's process needs before it has cached anything, the room that the kernel wants for its own work
    /// included. Measured: the runs of this package survive with 100 MiB of neighbour and 160 MiB of limit.
    static let floor = 64

    /// Refuses what cannot be obeyed, and says what to do.
    func validate() throws {
        func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
            if !condition { throw ValidationError(message()) }
        }
        try require((0...1 << 20).contains(neighbour), "--neighbour \(neighbour) must be from 0 to \(1 << 20) MiB")
        // The burst is a quarter of the limit.
        let least = (neighbour + Self.floor) * 4 / 3 + 1
        try require(
            (least...1 << 22).contains(limit),
            "--limit \(limit) must be from \(least) MiB, which the process (\(Self.floor)), its neighbour "
                + "(\(neighbour)) and its burst (a quarter) need, to \(1 << 22) MiB"
        )
        try require(seconds > 0 && seconds <= 3600, "--seconds \(seconds) must be more than 0 and at most 3600")
        if let svg {
            let folder = URL(fileURLWithPath: svg).deletingLastPathComponent().path
            try require(
                FileManager.default.isWritableFile(atPath: folder),
                "--svg \(svg) cannot be written, for \(folder) is not a folder to write in; choose another path"
            )
        }
    }

    func run() async throws {
        if let child { return try await ChildOrder.obey(child) }
        defer { Cleanup.finish() }
        if !(try await Session(options: self).run()) { throw ExitCode.failure }
    }

    /// The contenders, controls first: their fate is the question that ours answer.
    var contenders: [Contender] { Contender.allCases.filter { $0.isOurs || !noControls } }
}
