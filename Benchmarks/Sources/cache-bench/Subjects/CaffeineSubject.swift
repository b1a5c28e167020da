//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// Caffeine in a JVM beside this process, told over a pipe what to run; it keeps its own clock.
final class CaffeineSubject: Subject {
    let name = Implementations.caffeine
    private let keys: KeyKind
    private let streams: Int
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Compiles and starts the Java side, for integers or strings and so many threads; throws a line that says what is
    /// missing.
    init(folder: URL, keys: KeyKind, streams: Int) throws(Skipped) {
        self.keys = keys
        self.streams = streams
        guard let jar = Self.jars.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw Skipped(reason: "no caffeine.jar (apt-get install libcaffeine-java)")
        }
        let classes = folder.appending(path: ".build/java")
        do {
            try FileManager.default.createDirectory(at: classes, withIntermediateDirectories: true)
            let source = folder.appending(path: "Java/CaffeineBench.java").path
            guard try Self.run(["javac", "-cp", jar, "-d", classes.path, source]) == 0 else {
                throw Skipped(reason: "no javac, or it failed (apt-get install default-jdk-headless)")
            }
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["java", "-Xms2g", "-Xmx2g", "-cp", "\(jar):\(classes.path)", "CaffeineBench"]
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            guard answer() == "ready" else { throw Skipped(reason: "the JVM did not start") }
        } catch let error as Skipped {
            throw error
        } catch {
            throw Skipped(reason: "no Java (\(error))")
        }
    }

    struct Skipped: Error { let reason: String }

    private static let jars = ["/usr/share/java/caffeine.jar", "/usr/share/java/caffeine-2.6.2.jar"]

    func prepare(_ workload: Workload) {
        let form = "\(keys.rawValue) \(workload.requests.rawValue)"
        _ = ask("prepare \(Self.id(workload)) \(form) \(workload.keys) \(workload.limit) \(streams)")
    }

    func run(_ workload: Workload, threads: Int, milliseconds: Int) -> Double {
        let requests = "\(workload.writes) \(workload.setsMisses)"
        return Double(ask("run \(Self.id(workload)) \(requests) \(threads) \(milliseconds)")) ?? 0
    }

    /// Bytes of heap that an entry takes, its two boxes among them.
    func bytesPerEntry() -> Double { Double(ask("bytes 1000000")) ?? 0 }

    func finish() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// What the Java side knows a workload by.
    private static func id(_ workload: Workload) -> String { "\(workload.name):\(workload.requests.rawValue)" }

    private func ask(_ line: String) -> String {
        try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
        return answer()
    }

    private func answer() -> String {
        var line: [UInt8] = []
        while let data = try? output.fileHandleForReading.read(upToCount: 1), let byte = data.first, byte != 10 {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    private static func run(_ command: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
