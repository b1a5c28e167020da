//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Foundation

extension StaleCheck {
    /// Starts server and children, lets happen what was asked for, and waits.
    func runParent() async throws {
        let memory = "/dev/shm/stale-check-\(getpid())"
        defer { unlink(memory) }
        let (started, port) = try await startServer()
        var server = started
        defer { stop(server) }
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

    /// Starts the server on a port that is free: one that somebody has taken ends it at once. Ports that the system
    /// gives to connections are not tried (`ip_local_port_range`, Linux' Documentation/networking/ip-sysctl.rst).
    private func startServer() async throws -> (Process, port: Int) {
        for _ in 0..<10 {
            let port = Int.random(in: 20_000..<32_768)
            let process = try startServer(port)
            try await Task.sleep(for: .milliseconds(500))
            while process.isRunning {
                if let descriptor = try? Loopback.connect(port) {
                    close(descriptor)
                    return (process, port)
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        throw POSIXError(.EADDRINUSE)
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
}
#endif
