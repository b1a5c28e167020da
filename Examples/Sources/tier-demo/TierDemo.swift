//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
import ArgumentParser
import Foundation
import MemoryCaching
import TieredCaching
import ValkeyCaching

/// Two processes and a server: this one writes, the other one reads through a near cache, and the server is killed
/// meanwhile.
@main
struct TierDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tier-demo",
        abstract: "Shows what a reader sees while another process writes and the server dies and comes back.",
        discussion: """
            Starts a server on a loopback port of its own, writes from this process and reads from another one through \
            a near cache. It installs nothing. It needs redis-server (apt-get install redis-server) or valkey-server.
            """
    )

    @Option(help: "The server's program; by default redis-server or valkey-server, whichever is found.")
    var server: String?
    @Option(help: .hidden) var readerPort: Int?
    @Option(help: .hidden) var database = ""

    static let column = Duration.milliseconds(200)
    static let (columns, killed, restarted) = (60, 20, 35)
    /// Changes in each column: one every 50 ms.
    static let changes = 4

    func run() async throws {
        if let readerPort {
            try await Reader(port: readerPort, database: Database(path: database)).run()
        } else {
            try await runWriter()
        }
    }

    private func runWriter() async throws {
        guard let program = server ?? Self.installed(["redis-server", "valkey-server"]) else {
            print("tier-demo needs a server. Install one: apt-get install redis-server")
            throw ExitCode(1)
        }
        let port = Int.random(in: 20_000..<40_000)
        let path = FileManager.default.temporaryDirectory.appending(path: "tier-demo-\(getpid())").path()
        let database = Database(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try database.write(0)
        var process: Process? = try start(program, serverArguments(port))
        defer { process.map(Self.end) }
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        let cache = TieredCache<Int, UInt64>(name: "demo", remote: tier, codec: TrivialCodec())
        try await tier.waitUntilConnected()

        print(
            """
            Another process reads one value every 2 ms; this one changes it every 50 ms. The server
            is killed after 4 s and comes back, empty, after 7 s. Who answered the reads:

            """
        )
        let drawing = Drawing()
        let output = Pipe()
        let arguments = ["--reader-port", "\(port)", "--database", path]
        let reader = try start(Bundle.main.executablePath ?? CommandLine.arguments[0], arguments, output)
        let lines = Task { await drawing.read(output.fileHandleForReading) }
        let begun = ContinuousClock.now
        for step in 0..<Self.columns * Self.changes {
            if step == Self.killed * Self.changes, let running = process {
                Self.end(running)
                process = nil
            }
            if step == Self.restarted * Self.changes { process = try start(program, serverArguments(port)) }
            // The database first, then the cache.
            try database.write(UInt64(step + 1))
            try? await cache.setValue(UInt64(step + 1), forKey: 1)
            try await Task.sleep(until: begun + Self.column / Self.changes * (step + 1))
        }
        await lines.value
        reader.waitUntilExit()
        drawing.finish()
        await tier.shutDown()
    }

    // MARK: Processes

    private func serverArguments(_ port: Int) -> [String] {
        ["--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"]
    }

    private func start(_ program: String, _ arguments: [String], _ output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        if let output { process.standardOutput = output } else { process.standardOutput = FileHandle.nullDevice }
        try process.run()
        return process
    }

    private static func end(_ process: Process) {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func installed(_ programs: [String]) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return programs.first { program in
            path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
        }
    }
}

/// What both processes take for the truth: a version, and when it was written, in a file.
struct Database {
    let path: String

    func write(_ version: UInt64) throws {
        let line = Data("\(version) \(DispatchTime.now().uptimeNanoseconds)".utf8)
        try line.write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    func read() -> (version: UInt64, since: UInt64) {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let words = text.split(separator: " ").compactMap { UInt64($0) }
        return words.count == 2 ? (words[0], words[1]) : (0, 0)
    }
}
