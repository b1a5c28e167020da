//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import Synchronization

/// An event loop that other threads use until it is to end. NIO must not be asked to do anything on a loop that has
/// ended: it says so on the standard error stream, and stops a debug build.
final class EndingLoop: Sendable {
    let loop: any EventLoop
    private let isEnding = Mutex(false)

    init(_ loop: any EventLoop) { self.loop = loop }

    /// Has the loop call `body`, unless it is to end.
    func execute(_ body: @escaping @Sendable () -> Void) {
        isEnding.withLock { if !$0 { loop.execute(body) } }
    }

    /// Has the loop call `body` after `delay`, unless it is to end.
    @discardableResult
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Scheduled<Void>? {
        isEnding.withLock { isEnding in
            isEnding ? nil : loop.scheduleTask(in: .nanoseconds(delay.wholeNanoseconds), body)
        }
    }

    /// Nothing is taken from now on.
    func end() { isEnding.withLock { $0 = true } }

    var hasEnded: Bool { isEnding.withLock { $0 } }
}
#endif
