//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// What the user asked for cannot be had: one line that says what is wrong and what to do, and an exit code.
///
/// The codes are those of sysexits(3): 64 for a command line that cannot be obeyed, 66 for an input that cannot be
/// read.
struct BadInput: Error, Equatable, CustomStringConvertible {
    var description: String
    var exitCode: Int32

    static let usage: Int32 = 64
    static let noInput: Int32 = 66

    static func port(_ port: UInt16, _ error: any Error) -> BadInput {
        BadInput(
            description: "port \(port) on 127.0.0.1 cannot be had (\(error.localizedDescription)); "
                + "choose another with --port, or 0 for any free one",
            exitCode: usage
        )
    }
}

extension BadInput {
    /// A command line that the parser refused, in `message`'s first line and with the way out.
    static func commandLine(_ message: String) -> BadInput {
        let line = message.split(separator: "\n").joined(separator: " ")
        let advice = line.contains("; ") ? "" : "; cache-demo --help lists what there is"
        return BadInput(description: line + advice, exitCode: usage)
    }
}
