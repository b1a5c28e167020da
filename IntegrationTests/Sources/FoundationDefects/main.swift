//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc

// Shows the list of defects against Foundation's NSCache, each in a process of its own; 0 if all are still there.
//
//     FoundationDefects        the whole list
//     FoundationDefects C01    one of them, in this process: exit status 0 if it is mended

let arguments = CommandLine.arguments.dropFirst()
if let number = arguments.first {
    guard let defect = Defect(rawValue: number) else { exit(2) }
    exit(defect.isMended() ? EXIT_SUCCESS : EXIT_FAILURE)
}

/// How long a scenario may take before it counts as one that never returns: they take milliseconds.
let patience: TimeInterval = 10

func outcome(of defect: Defect) throws -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = [defect.rawValue]
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let deadline = Date(timeIntervalSinceNow: patience)
    while process.isRunning, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
    if process.isRunning {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return "never returns"
    }
    if process.terminationReason == .uncaughtSignal { return "stopped by signal \(process.terminationStatus)" }
    return process.terminationStatus == EXIT_SUCCESS ? nil : "wrong"
}

var mended = 0
for defect in Defect.allCases {
    let result = try outcome(of: defect)
    if result == nil { mended += 1 }
    print(defect.rawValue, "\(defect)".padding(toLength: 36, withPad: " ", startingAt: 0), result ?? "MENDED")
}
print("\(Defect.allCases.count - mended) of \(Defect.allCases.count) defects in Foundation's NSCache")
exit(mended == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
