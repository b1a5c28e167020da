//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// A real web server from Debian's packages, on a loopback port of its own, for as long as its access log grows.
///
/// The log is read after the server has ended, so that every line is in it.
final class WebServer {
    enum Kind: String, CaseIterable {
        case nginx = "/usr/sbin/nginx"
        case apache = "/usr/sbin/apache2"

        var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: rawValue) }
    }

    struct DoesNotStart: Error { let said: String }

    let folder: String
    private(set) var port: UInt16 = 0
    private var process = Process()
    var log: String { folder + "/access.log" }

    /// Starts a server whose files have these sizes, on a port that nobody has.
    init(_ kind: Kind, sizes: [String: Int]) throws {
        folder = NSTemporaryDirectory() + "web-server-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/www", withIntermediateDirectories: true)
        for (name, size) in sizes {
            try Data(repeating: 120, count: size).write(to: URL(fileURLWithPath: "\(folder)/www/\(name)"))
        }
        for path in [folder, folder + "/www"] {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        // Another program may take the port between the question and the start.
        for _ in 0..<20 {
            port = Self.freePort()
            try start(kind)
            while process.isRunning {
                if try request("GET /\(sizes.keys.first ?? "") HTTP/1.0") { return }
                usleep(10_000)
            }
        }
        throw DoesNotStart(said: (try? String(contentsOfFile: folder + "/error.log", encoding: .utf8)) ?? "")
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ends the server; then the log is complete.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    /// Sends a request and reads the whole answer; false where nothing listens.
    @discardableResult
    func request(_ line: String) throws -> Bool {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = Self.address(port)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return false }
        let text = Array("\(line)\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard send(socket, text, text.count, Int32(MSG_NOSIGNAL)) == text.count else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var answer = 0
        while case let count = recv(socket, &buffer, buffer.count, 0), count > 0 { answer += count }
        return answer > 0
    }

    private func start(_ kind: Kind) throws {
        let configuration = kind == .nginx ? nginx : apache
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/server.conf"))
        process = Process()
        process.executableURL = URL(fileURLWithPath: kind.rawValue)
        process.arguments =
            kind == .nginx
            ? ["-p", folder, "-e", folder + "/error.log", "-c", folder + "/server.conf"]
            : ["-X", "-f", folder + "/server.conf", "-E", folder + "/error.log"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        // A child inherits what the calling thread blocks, and threads of Dispatch block SIGTERM.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    private var nginx: String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
        return """
            daemon off; master_process off; pid \(folder)/pid; events {}
            http {
              \(temporary.joined(separator: " "))
              access_log \(log) combined;
              server { listen 127.0.0.1:\(port); root \(folder)/www; }
            }
            """
    }

    private var apache: String {
        let modules = ["mpm_event", "authz_core"].map {
            "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so\n"
        }
        // Root may not serve as itself.
        let user = getuid() == 0 ? "User www-data\nGroup www-data\n" : ""
        return modules.joined() + user + """
            ServerRoot \(folder)
            DefaultRuntimeDir \(folder)
            PidFile \(folder)/pid
            ServerName localhost
            Listen 127.0.0.1:\(port)
            DocumentRoot \(folder)/www
            ErrorLog \(folder)/error.log
            LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
            CustomLog \(log) common
            """
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func freePort() -> UInt16 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(socket, $0, length)
                _ = getsockname(socket, $0, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }
}
