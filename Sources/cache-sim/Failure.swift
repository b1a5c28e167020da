//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation

/// What goes wrong is said in one line on standard error.
enum Failure {
    /// Says `message` and gives the exit status to throw.
    static func say(_ message: String, status: Int32) -> ExitCode {
        write("cache-sim: \(message)\n")
        return ExitCode(status)
    }

    /// Writes to standard error; that it cannot be written to is nobody's business.
    static func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
