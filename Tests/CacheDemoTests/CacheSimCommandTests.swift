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

    @Test("A trace that cannot be read ends with 66 and one line with file and position")
    func unreadable() throws {
        let missing = try run("/no/such/trace")
        #expect(missing.status == 66)
        #expect(missing.errors.hasPrefix("cache-sim: /no/such/trace: cannot be read"))
        try withTrace("a,1\nb,-1\n") { path in
            let outcome = try run(path)
            #expect(outcome.status == 66)
            #expect(outcome.errors.hasPrefix("cache-sim: \(path):2: "))
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(outcome.output.isEmpty)
        }
    }

    @Test("Help says what it is for and how to write a trace")
    func help() throws {
        let outcome = try run("--help")
        #expect(outcome.status == 0)
        for word in ["see what cache limit buys", "key[,size[,cost]]", "EXIT STATUS", "--svg"] {
            #expect(outcome.output.contains(word), "\(word)")
        }
    }
}
