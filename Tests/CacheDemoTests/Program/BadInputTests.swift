//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

@testable import cache_demo

/// What cannot be obeyed ends with one line that says what and what to do, with code 64 or 66, and leaves nothing.
@Suite struct BadInputTests {
    private func expectRefusal(_ arguments: [String], code: Int32, naming words: String...) throws {
        let program = try DemoProgram(arguments)
        let result = program.result()
        #expect(result.code == code)
        #expect(result.output.isEmpty, "\(result.output)")
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 1, "\(result.errors)")
        for word in words { #expect(result.errors.contains(word), "“\(word)” in “\(result.errors)”") }
        #expect(program.leftovers() == [])
    }

    @Test func `an unknown flag`() throws {
        try expectRefusal(["--colour"], code: 64, naming: "--colour", "--help")
    }

    @Test func `an argument that nobody asked for`() throws {
        try expectRefusal(["please"], code: 64, naming: "please", "--help")
    }

    @Test(arguments: [
        ["--limit", "much"], ["--port", "99999"], ["--seconds", "0"], ["--seconds", "-1"], ["--requests", "0"],
        ["--latency", "-2"], ["--zipf", "9"], ["--catalogue", "0"], ["--connections", "0"], ["--seed", "x"],
        ["--svg", "/nowhere/at/all.svg"], ["--limit"],
    ])
    func `a value that cannot be`(arguments: [String]) throws {
        try expectRefusal(arguments, code: 64, naming: arguments[0])
    }

    @Test func `a limit below what the process needs`() throws {
        try expectRefusal(["--limit", "20MiB"], code: 64, naming: "--limit", "20 MiB", "at least")
    }

    @Test func `a trace that is not there`() throws {
        try expectRefusal(["--trace", "/nowhere/web.trace"], code: 66, naming: "/nowhere/web.trace")
    }

    @Test func `a trace that is a directory`() throws {
        try expectRefusal(["--trace", "/tmp"], code: 66, naming: "/tmp")
    }

    @Test func `a trace that ends within a record`() throws {
        let path = try RequestStreamTests.write((0..<50).map { ($0, 50_000) }, cut: 5)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try expectRefusal(["--trace", path], code: 66, naming: path, "record")
    }

    @Test func `an empty trace`() throws {
        let path = try RequestStreamTests.write([])
        defer { try? FileManager.default.removeItem(atPath: path) }
        try expectRefusal(["--trace", path], code: 66, naming: path)
    }

    @Test func `a port in use`() async throws {
        let origin = try await OriginServer(port: 0, seed: 1, latency: .zero)
        try expectRefusal(["--port", "\(origin.port)"], code: 64, naming: "\(origin.port)", "--port")
        await origin.stop()
    }

    @Test func `help is no error`() throws {
        let result = try DemoProgram(["--help"]).result()
        #expect(result.code == 0)
        #expect(result.output.contains("--limit"))
        #expect(result.errors.isEmpty)
    }
}
