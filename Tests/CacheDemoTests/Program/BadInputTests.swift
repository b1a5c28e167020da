//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

/// What cannot be obeyed ends with a line that says what and what to do, with code 64, and leaves nothing.
@Suite struct BadInputTests {
    private func expectRefusal(_ arguments: [String], naming words: String...) throws {
        let program = try DemoProgram(arguments)
        let result = program.result()
        #expect(result.code == 64)
        #expect(result.output.isEmpty, "\(result.output)")
        #expect(result.errors.hasPrefix("Error: "), "\(result.errors)")
        let line = result.errors.prefix { $0 != "\n" }
        for word in words { #expect(line.contains(word), "“\(word)” in “\(line)”") }
        #expect(result.errors.contains("--help"))
        #expect(program.leftovers() == [])
    }

    @Test func `an unknown flag`() throws { try expectRefusal(["--colour"], naming: "--colour") }

    @Test func `an argument that nobody asked for`() throws { try expectRefusal(["please"], naming: "please") }

    @Test(arguments: [
        ["--limit", "much"], ["--limit", "9223372036854775807"], ["--neighbour=-1"],
        ["--neighbour", "9223372036854775807"], ["--seconds", "0"], ["--seconds=-1"], ["--seconds", "nan"],
        ["--seed", "x"], ["--svg", "/nowhere/at/all.svg"], ["--limit"],
    ])
    func `a value that cannot be`(arguments: [String]) throws {
        try expectRefusal(arguments, naming: String(arguments[0].prefix { $0 != "=" }))
    }

    @Test func `a limit below what the process needs`() throws {
        try expectRefusal(["--limit", "20"], naming: "--limit 20", "from 219 MiB")
    }

    @Test func `help is no error`() throws {
        let result = try DemoProgram(["--help"]).result()
        #expect(result.code == 0)
        #expect(result.output.contains("--limit") && !result.output.contains("--child"))
        #expect(result.errors.isEmpty)
    }
}
