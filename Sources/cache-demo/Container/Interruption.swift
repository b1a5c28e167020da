//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import Glibc
import Synchronization

/// Ends the program in good order when it is told to stop: nothing of ours stays behind, and the terminal is as it was.
enum Interruption {
    /// The signals that mean "stop": from the keyboard, from a supervisor, from a terminal that went away.
    static let signals: [CInt] = [SIGINT, SIGTERM, SIGHUP]

    private static let begun = Atomic(false)

    /// Whether the program is being ended by a signal.
    static var isUnderWay: Bool { begun.load(ordering: .acquiring) }

    /// Ends the program with `code`, unless an interruption is ending it already: that one has the last word, for what
    /// goes wrong while it takes things away is its own doing.
    static func leave(_ code: CInt) -> Never {
        while isUnderWay { pause() }
        exit(code)
    }

    /// Handles every one of `signals` from now on. `restore` runs first.
    static func install(restore: @escaping @Sendable () -> Void) -> [any DispatchSourceSignal] {
        signal(SIGPIPE, SIG_IGN)
        return signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler {
                begun.store(true, ordering: .releasing)
                restore()
                LiveThings.shared.removeAll()
                // The shell's convention: 128 and the signal's number.
                _exit(128 + number)
            }
            source.resume()
            return source
        }
    }
}
