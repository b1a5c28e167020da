//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

/// Runs the stress tool where memory is short: in a small cgroup, else by asking for reclaim page by page.
///
/// `CACHE_STRESS_SECONDS` lengthens it.
@Suite(.serialized) struct PurgeableStressTests {
    private static let seconds = ProcessInfo.processInfo.environment["CACHE_STRESS_SECONDS"].flatMap(Double.init) ?? 6

    /// 64 MiB for 96 MiB of values and a squeezer of up to 16 MiB.
    private static let limitBytes = 64 << 20

    private func stress(_ arguments: [String], seconds: Double) throws -> (status: Int32?, counts: [String: Int]) {
        let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("PurgeableStress").path
        try #require(FileManager.default.isExecutableFile(atPath: tool), "the stress tool is built with the tests")
        var arguments = arguments + ["--seconds", "\(seconds)"]
        let output: String
        let status: Int32?
        if CgroupSandbox.isAvailable {
            let sandbox = try CgroupSandbox(limitBytes: Self.limitBytes)
            defer { sandbox.remove() }
            let outcome = try sandbox.run(tool, arguments, seconds: 10 * seconds + 120)
            #expect(outcome.signal == nil, "\(outcome)")
            (output, status) = (outcome.output, outcome.exitStatus)
        } else {
            print("NO CGROUP: squeezing with MADV_PAGEOUT")
            arguments += ["--squeeze-by-advice"]
            let process = Process()
            process.executableURL = URL(fileURLWithPath: tool)
            process.arguments = arguments
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            status = process.terminationStatus
        }
        print(output)
        let words = output.split(whereSeparator: \.isWhitespace)
        var counts: [String: Int] = [:]
        for (name, number) in zip(words, words.dropFirst()) { counts[String(name)] = Int(number) }
        return (status, counts)
    }

    @Test func everyAcceptedByteIsRight() throws {
        let (status, counts) = try stress([], seconds: Self.seconds)
        #expect(status == 0)
        #expect(counts["corrupt"] == 0)
        #expect(counts["stuck"] == 0, "children of fork that did not come to an end")
        for role in ["pinned", "read", "written", "purged", "forks"] {
            #expect(counts[role, default: 0] > 0, "\(role): the run has to have tried it")
        }
    }

    /// The run above is worth something only if it can fail.
    /// It ends when it has failed.
    @Test(arguments: ["pin", "optimistic"]) func leavingOutACheckIsNoticed(control: String) throws {
        let (status, counts) = try stress(["--control", control, "--no-forks"], seconds: 12)
        #expect(status == 1)
        #expect(counts["corrupt", default: 0] > 0)
    }
}
