//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

/// `cache-sim` as its users meet it: arguments in, text and an exit status out.
@Suite("cache-sim, the command")
struct CacheSimCommandTests {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    /// The executable lies beside the test runner.
    static let executable = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("cache-sim")

    func run(_ arguments: String...) throws -> Outcome {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        let output = Pipe(), errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let errorText = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus,
            output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: errorText, as: UTF8.self)
        )
    }

    /// Calls `body` with the path of a trace of this text.
    func withTrace<R>(_ text: String, _ body: (String) throws -> R) throws -> R {
        let path = NSTemporaryDirectory() + "cache-sim-\(UUID().uuidString).csv"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        return try body(path)
    }

    static let log = (0..<300).map { "k\($0 * $0 % 37),\(100 + $0 % 37)\n" }.joined()

    @Test("A log becomes a table with the product, its peers and advice")
    func table() throws {
        try withTrace(Self.log) { path in
            let outcome = try run(path, "--size", "10%", "--size", "2kB")
            #expect(outcome.status == 0)
            for word in ["MemoryCache", "LRU", "S3-FIFO", "BelSize", "10% = ", "points of misses"] {
                #expect(outcome.output.contains(word), "\(word)")
            }
            #expect(outcome.errors.isEmpty)
        }
    }

    @Test("CSV and a chart")
    func files() throws {
        try withTrace(Self.log) { path in
            let svg = path + ".svg"
            defer { unlink(svg) }
            let outcome = try run(path, "--csv", "--svg", svg, "-p", "lru", "-p", "memorycache", "--cost", "A")
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("trace,policy,capacity,"))
            #expect(try String(contentsOfFile: svg, encoding: .utf8).hasSuffix("</svg>\n"))
        }
    }

    @Test(
        "A command line that makes no sense ends with 64",
        arguments: [
            [], ["x.csv", "--size", "0"], ["x.csv", "--size", "many"], ["x.csv", "--policy", "magic"],
            ["x.csv", "--cost", "C"], ["x.csv", "--format", "tar"], ["x.csv", "--jobs", "0"], ["x.csv", "--what"],
        ]
    )
    func usage(arguments: [String]) throws {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 64)
    }

    @Test("A size in bytes for a trace without sizes ends with 64 and a line that says what to do")
    func bytesWithoutSizes() throws {
        try withTrace("a\nb\na\n") { path in
            let outcome = try run(path, "--size", "64MB")
            #expect(outcome.status == 64)
            #expect(outcome.errors.hasPrefix("cache-sim: 64 MB of "))
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("A file that cannot be opened ends with 66, a bad line with 65, and one line says where")
    func unreadable() throws {
        let missing = try run("/no/such/trace")
        #expect(missing.status == 66)
        #expect(missing.errors.hasPrefix("cache-sim: /no/such/trace: cannot be read"))
        try withTrace("a,1\nb,-1\n") { path in
            let outcome = try run(path)
            #expect(outcome.status == 65)
            #expect(outcome.errors.hasPrefix("cache-sim: \(path):2: "))
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(outcome.output.isEmpty)
        }
    }

    @Test(
        "Nonsense ends with 65 and one line that says what is wrong",
        arguments: [
            "The quick brown fox\njumps over the lazy dog\n", "a, b and c\n", "{\"a\":\n", "\u{0}\u{1}\u{2}",
            "Nov 22 07:25:08 host app[7]: started\n",
        ]
    )
    func nonsense(text: String) throws {
        try withTrace(text) { path in
            let outcome = try run(path)
            #expect(outcome.status == 65)
            #expect(outcome.errors.hasPrefix("cache-sim: \(path)"))
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(outcome.output.isEmpty)
        }
    }

    @Test("Where nearly all keys differ there is a warning and no chart")
    func differingKeys() throws {
        try withTrace((0..<500).map { "key-\($0 * 31 % 490)\n" }.joined()) { path in
            let svg = path + ".svg"
            defer { unlink(svg) }
            let outcome = try run(path, "--svg", svg)
            #expect(outcome.status == 65)
            #expect(outcome.errors.contains("500 requests ask for 490 different keys"))
            #expect(!outcome.output.contains("MemoryCache"))
            #expect(!FileManager.default.fileExists(atPath: svg))
        }
    }

    @Test("It says what it took the key to be, with three examples, the memory of each limit and the knee")
    func interpretation() throws {
        let rows = (0..<900).map { "\($0),/page/\($0 * $0 % 97),\(1000 + $0 * $0 % 97)\n" }.joined()
        try withTrace("at,address,weight\n" + rows) { path in
            let outcome = try run(
                path,
                "--key-column",
                "address",
                "--size-column",
                "weight",
                "--time-column",
                "at",
                "-p",
                "MemoryCache"
            )
            #expect(outcome.status == 0)
            for word in [
                "the key is the column “address”", "the size is the column “weight”", "key: /page/0\n",
                "key: /page/1\n",
                "key: /page/4\n", " of memory): MemoryCache misses ", " curve ",
            ] { #expect(outcome.output.contains(word), "\(word)") }
        }
    }

    @Test("A real server's log under real requests becomes sensible curves", arguments: WebServer.Kind.allCases)
    func realLog(kind: WebServer.Kind) throws {
        guard kind.isInstalled else { return print("SKIPPED: no \(kind.rawValue)") }
        let files = Dictionary(uniqueKeysWithValues: (0..<40).map { ("f\($0).bin", 1000 + 100 * $0) })
        let server = try WebServer(kind, sizes: files)
        // Small numbers come often, and what no cache is asked for comes in between.
        for index in 0..<400 {
            try server.request("GET /f\((index * index + index / 3) % (1 + index % 40)).bin HTTP/1.1")
            if index % 20 == 0 { try server.request("DELETE /f1.bin HTTP/1.1") }
            if index % 25 == 0 { try server.request("GET /nothing HTTP/1.1") }
        }
        server.stop()

        let outcome = try run(server.log, "--csv", "-p", "LRU", "--size", "5%", "--size", "25%", "--size", "100%")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.errors.contains("read as an access log") && outcome.errors.contains("key: /f"))
        #expect(outcome.errors.contains("36 lines left out"), "\(outcome.errors)")
        let rows = outcome.output.split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
        try #require(rows.count >= 3, "\(outcome.output)")
        let ratios = rows.prefix(3).compactMap { Double($0[6]) }
        #expect(ratios.count == 3 && ratios[0] < ratios[1] && ratios[1] < ratios[2], "\(ratios)")
        #expect(rows[0][3] == "bytes")
        // A cache for everything misses each key once; the first request was for the start.
        let requests = Int(rows[2][4]) ?? 0, hits = Int(rows[2][5]) ?? 0
        #expect(requests == 401 && requests - hits <= 40)
    }

    @Test("Help says what it is for and how to write a trace")
    func help() throws {
        let outcome = try run("--help")
        #expect(outcome.status == 0)
        for word in ["see what cache limit buys", "key[,size[,cost]]", "nginx", "EXIT STATUS", "--svg"] {
            #expect(outcome.output.contains(word), "\(word)")
        }
    }
}
