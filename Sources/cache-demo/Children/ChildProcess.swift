//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc
import Synchronization

/// A child that runs this same program with an order of its own.
///
/// Only we hold the other end of its standard input: its end tells the child that we are gone, however we went. Its
/// standard output and error come back line by line.
final class ChildProcess: Sendable {
    /// What it prints, line by line, until it has ended.
    let lines: AsyncStream<String>
    private let process = Process()
    private let input = Pipe()
    /// Whether we have killed it.
    private let isStopped = Atomic(false)

    /// Starts it. With `warnings` the child watches those, in place of what MEMORY_PRESSURE_WATCH names for us.
    init(_ order: ChildOrder, warnedBy warnings: PressureWarnings? = nil) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = ["--child", String(decoding: try JSONEncoder().encode(order), as: UTF8.self)]
        if let warnings { process.environment = warnings.environment(over: ProcessInfo.processInfo.environment) }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        let (stream, continuation) = AsyncStream<String>.makeStream()
        lines = stream
        try Cleanup.start(self) { try process.run() }
        Thread.detachNewThread { [process] in
            var pending = Data()
            while case let chunk = output.fileHandleForReading.availableData, !chunk.isEmpty {
                pending += chunk
                while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: pending[..<newline], as: UTF8.self))
                    pending = Data(pending[(newline + 1)...])
                }
            }
            process.waitUntilExit()
            continuation.finish()
        }
    }

    /// How it ended, once `lines` has.
    var end: RunRecord.Fate {
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): .survived
        case (.uncaughtSignal, SIGKILL): isStopped.load(ordering: .acquiring) ? .failed("stopped") : .killed
        case (.exit, let code): .failed("ended with code \(code)")
        case (_, let signal): .failed("ended by signal \(signal)")
        }
    }

    /// Ends its standard input, which asks it to finish.
    func closeInput() { try? input.fileHandleForWriting.close() }

    /// Kills it, if it still lives; that is not the kernel's doing.
    func kill() {
        guard process.isRunning else { return }
        isStopped.store(true, ordering: .releasing)
        Glibc.kill(process.processIdentifier, SIGKILL)
    }
}
