//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import ArgumentParser
import Foundation
import MemoryCaching
import TieredCaching
import ValkeyCaching

/// Looks for values that a near cache serves after they were replaced.
@main
struct StaleCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stale-check",
        abstract: "Looks for values that near caches serve after they were replaced.",
        discussion: """
            Starts a server, a process that writes and processes that read. Prints the age of every stale read (how \
            long the next version had been acknowledged when the read began) and the keys that are still old 0.7 s \
            after the last write. With --check it looks at another promise instead. Needs redis-server (apt-get install redis-server) or valkey-server.
            """
    )

    enum Control: String, ExpressibleByArgument, CaseIterable { case none, carelessFill, pooledReports, bareConnection }
    enum Fault: String, ExpressibleByArgument, CaseIterable { case none, kill, stop, flush, cut, swallow }
    enum Check: String, ExpressibleByArgument, CaseIterable { case age, ownWrites, oldFills, oneLoad, outage, speed }
    enum Role: String, ExpressibleByArgument { case parent, reader, writer, caller }

    @Option(help: "The server's program.") var server = "redis-server"
    @Option(help: "Seconds of writing.") var seconds = 10
    @Option(help: "Keys.") var keys = 20
    @Option(help: "Writes a second.") var writes = 2_000
    @Option(help: "Processes that read.") var readers = 3
    @Option(
        help: """
            What reads instead of the library: what is wrong and must be caught (carelessFill, pooledReports), or a \
            thread on a bare connection, whose ages are what the machine takes. \(Control.allCases.map(\.rawValue)).
            """
    )
    var control = Control.none
    @Option(help: "What happens to the server every two seconds: \(Fault.allCases.map(\.rawValue)).")
    var fault = Fault.none
    @Option(help: "What to look at: \(Check.allCases.map(\.rawValue)).") var check = Check.age
    @Option(help: "Rounds of ownWrites and oldFills.") var rounds = 10_000
    @Flag(help: "With oneLoad: the process that loads first is killed.") var deadly = false
    @Flag(help: "Keep every thread of the readers' cooperative pools busy.") var busy = false
    @Option(help: .hidden) var role = Role.parent
    @Option(help: .hidden) var port = 0
    @Option(help: .hidden) var memory = ""
    @Option(help: .hidden) var begin = 0.0

    func run() async throws {
        switch role {
        case .parent: try await runParent()
        case .writer: try await runWriter()
        case .reader: try await runReader()
        case .caller: try await runCaller()
        }
    }

    // MARK: The parent

    private func runParent() async throws {
        let port = Int.random(in: 20_000..<40_000)
        let memory = "/dev/shm/stale-check-\(getpid())"
        defer { unlink(memory) }
        var server = try startServer(port)
        defer { stop(server) }
        try await Task.sleep(for: .milliseconds(500))
        switch check {
        case .age: break
        case .ownWrites: return try await checkOwnWrites(port)
        case .oldFills: return try await checkOldFills(port)
        case .oneLoad: return try await checkOneLoad(port, memory)
        case .speed: return try await checkSpeed(port)
        case .outage:
            return try await checkOutage(port) {
                if fault == .stop { kill(server.processIdentifier, SIGSTOP) } else { stop(server) }
            }
        }
        _ = try SharedVersions(path: memory, keyCount: keys)
        let hole = try BlackHole(before: port)
        let children = try (0...readers).map { number in
            let isWriter = number == 0
            return try startChild(
                isWriter ? .writer : .reader,
                fault == .swallow && !isWriter ? hole.port : port,
                memory
            )
        }
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end, fault != .none {
            try await Task.sleep(for: .seconds(2))
            switch fault {
            case .none: break
            case .kill:
                stop(server)
                server = try startServer(port)
            case .stop:
                kill(server.processIdentifier, SIGSTOP)
                try await Task.sleep(for: .seconds(2))
                kill(server.processIdentifier, SIGCONT)
            case .swallow:
                hole.swallow(true)
                try await Task.sleep(for: .seconds(2))
                hole.swallow(false)
            case .flush: try tell(port, "FLUSHALL")
            case .cut: try tell(port, "CLIENT KILL TYPE normal SKIPME yes")
            }
        }
        for child in children { child.waitUntilExit() }
    }

    private func startServer(_ port: Int) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [server, "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.standardError
        try process.run()
        return process
    }

    private func stop(_ server: Process) {
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
    }

    func startChild(_ role: Role, _ port: Int, _ memory: String, _ rest: [String] = []) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments =
            ["--role", role.rawValue, "--port", "\(port)", "--memory", memory, "--seconds", "\(seconds)"]
            + ["--keys", "\(keys)", "--writes", "\(writes)", "--control", control.rawValue] + (busy ? ["--busy"] : [])
            + rest
        try process.run()
        return process
    }

    /// Sends a command as another program would.
    private func tell(_ port: Int, _ command: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(command)\\r\\n' >&3; read -t 1 -u 3"]
        try process.run()
        process.waitUntilExit()
    }

    // MARK: The children

    var options: TieredCacheOptions {
        TieredCacheOptions(softTimeout: .milliseconds(500), changeTimeout: .seconds(5))
    }

    private func runWriter() async throws {
        let shared = try SharedVersions(path: memory, keyCount: keys)
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        let cache = TieredCache<Int, UInt64>(name: "check", remote: tier, codec: TrivialCodec(), options: options)
        let begun = ContinuousClock.now
        var (sent, failed) = (0, 0)
        while ContinuousClock.now < begun + .seconds(seconds) {
            // Each key has one writer; keys are written beside each other.
            await withTaskGroup(of: Bool.self) { group in
                for key in 0..<keys {
                    group.addTask { await Self.write(key, shared, cache) }
                }
                for await isWritten in group where !isWritten { failed += 1 }
            }
            sent += keys
            try await Task.sleep(until: begun + .seconds(1) * Double(sent) / Double(writes))
        }
        for key in 0..<keys { while await !Self.write(key, shared, cache) {} }
        let duration = begun.duration(to: .now) / .seconds(1)
        print("writer: \(sent) writes, \(Int(Double(sent) / duration)) a second, \(failed) failed")
        shared.isOver = true
        await tier.shutDown()
    }

    private static func write(_ key: Int, _ shared: SharedVersions, _ cache: TieredCache<Int, UInt64>) async -> Bool {
        let version = shared.origin(key) + 1
        shared.setOrigin(key, version)
        do { try await cache.setValue(version, forKey: key) } catch { return false }
        // Versions that were not acknowledged were replaced with this one.
        for missed in shared.acknowledged(key)..<version { shared.acknowledge(key, missed + 1) }
        return true
    }

    private func runReader() async throws {
        let shared = try SharedVersions(path: memory, keyCount: keys)
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        if busy {
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { Task.detached { await Self.spin(shared) } }
        }
        let reader: Reader
        switch control {
        case .carelessFill:
            let careless = CarelessCache()
            tier.subscribe(careless)
            let epoch = try await Self.epoch(in: tier)
            reader = Reader(shared) {
                careless.values["check:v1:\(epoch):\($0)"]
            } miss: { key in
                let name = "check:v1:\(epoch):\(key)"
                guard let found = try await tier.read(name, within: .seconds(1)) else { return shared.origin(key) }
                let version = try TrivialCodec<UInt64>().decode(found.bytes.span.bytes)
                careless.values[name] = version
                return version
            }
        case .bareConnection:
            tier.start()
            let prefix = "check:v1:\(try await Self.epoch(in: tier)):"
            let bare = try BareConnection(port: port, keyCount: keys, prefix: prefix)
            reader = Reader(shared, near: bare.value) { _ in throw CancellationError() }
        case .none, .pooledReports:
            let remote: any RemoteTier = control == .none ? tier : PooledTier(tier)
            let cache = TieredCache<Int, UInt64>(name: "check", remote: remote, codec: TrivialCodec(), options: options)
            reader = Reader(shared) {
                cache.nearValue(forKey: $0)
            } miss: { key in
                try await cache.value(forKey: key) { shared.origin(key) }
            }
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                reader.run()
                print("reader: \(reader.report())")
                continuation.resume()
            }
        }
        await tier.shutDown()
    }

    /// The epoch that a cache of this check has written.
    static func epoch(in tier: ValkeyTier) async throws -> String {
        while true {
            let found = try? await tier.read("check:v1", within: .seconds(1))
            if let found { return String(decoding: found.bytes, as: UTF8.self) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Holds a thread of the pool, but for a moment every tenth of a second.
    private static func spin(_ shared: SharedVersions) async {
        while !shared.isOver {
            let end = SharedVersions.now + 100_000_000
            while SharedVersions.now < end {}
            await Task.yield()
        }
    }
}
#endif
