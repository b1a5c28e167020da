//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

/// What a program that uses only `MemoryCaching` links, read from the program itself.
@Suite struct LinkageTests {
    /// The probe lies beside the test bundle.
    static let probe = Bundle.main.bundleURL.appending(path: "linkage-probe")

    static func linkedLibraries(of program: URL) throws -> [Substring] {
        let ldd = Process()
        ldd.executableURL = URL(filePath: "/usr/bin/ldd")
        ldd.arguments = [program.path]
        let output = Pipe()
        ldd.standardOutput = output
        try ldd.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        ldd.waitUntilExit()
        #expect(ldd.terminationStatus == 0)
        return text.split(separator: "\n")
    }

    @Test func `a program that uses only MemoryCaching links the standard library and nothing of Foundation`() throws {
        let libraries = try Self.linkedLibraries(of: Self.probe)
        #expect(libraries.contains { $0.contains("libswiftCore") })
        for library in libraries {
            #expect(!library.contains("Foundation"), "linked: \(library)")
        }
    }

    @Test func `the check can fail: this test bundle's own program does link Foundation`() throws {
        let bundle = try #require(
            FileManager.default.contentsOfDirectory(at: Bundle.main.bundleURL, includingPropertiesForKeys: nil)
                .first { $0.pathExtension == "xctest" }
        )
        #expect(try Self.linkedLibraries(of: bundle).contains { $0.contains("Foundation") })
    }
}
