//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure

/// The program itself, which lies beside the test bundle, run as a user runs it.
struct DemoProgram {
    static let url = Bundle.main.bundleURL.appending(path: "cache-demo")

    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.executableURL = Self.url
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    struct Result {
        var code: Int32
        var output: String
        var errors: String
    }

    /// Waits for its end. Standard error holds a line at most, so it needs no reader of its own.
    func result() -> Result {
        let output = output.fileHandleForReading.readDataToEndOfFile()
        let errors = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Result(
            code: process.terminationStatus,
            output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self)
        )
    }

    /// Reads its output until `text` has come; false if the output ends before.
    func waits(for text: String) -> Bool {
        var seen = ""
        while !seen.contains(text) {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return false }
            seen += String(decoding: data, as: UTF8.self)
        }
        return true
    }

    /// What this run has left behind: groups and temporary folders with its number in their names, and processes of
    /// its process's.
    func leftovers() -> [String] {
        let pid = process.processIdentifier
        var found: [String] = []
        let temporary = FileManager.default.temporaryDirectory.path
        for directory in CgroupMembership.read(.system).flatMap(\.directories) + [temporary] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            found += names.filter { $0.hasPrefix("cache-demo-\(pid)-") }.map { "\(directory)/\($0)" }
        }
        return found + Self.children(namedFor: pid)
    }

    /// Children are known by their arguments, in which the parent's number is part of their group's name; where there
    /// are no groups, by the parent that proc(5) tells.
    private static func children(namedFor pid: Int32) -> [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { Int($0) != nil }.filter { process in
            let arguments = SystemFiles.system.text("/proc/\(process)/cmdline") ?? ""
            guard arguments.contains("--child") else { return false }
            let parent = (SystemFiles.system.text("/proc/\(process)/status") ?? "").contains("PPid:\t\(pid)\n")
            return parent || arguments.contains("cache-demo-\(pid)-")
        }.map { "process \($0)" }
    }
}
