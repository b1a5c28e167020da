//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Whether the remote tier is worth asking, as a pure value.
///
/// After ``failureLimit`` failures in a row nothing is asked for a second; then one *probe* is let through. Its success
/// closes the breaker; its failure opens it again for twice as long, up to 30 s. The pauses are shortened at random by
/// up to a half, so that processes that failed together do not probe together. (The shape is Nygard's "Release It!",
/// 2007; five failures and a second are what the breakers of Polly and resilience4j begin with, to the order.)
package struct CircuitBreaker: Hashable {
    package enum State: Hashable {
        case closed(failures: Int)
        case open(until: Int64, pause: Int64)
        case probing(pause: Int64)
    }

    package private(set) var state = State.closed(failures: 0)

    package static var failureLimit: Int { 5 }
    package static var firstPause: Int64 { 1_000 }
    package static var longestPause: Int64 { 30_000 }

    package init() {}

    /// Whether to ask now. One who is let through must report the outcome.
    package mutating func permits(now: Int64) -> Bool {
        switch state {
        case .closed: return true
        case .probing: return false
        case .open(let until, let pause):
            guard now >= until else { return false }
            state = .probing(pause: pause)
            return true
        }
    }

    /// The remote tier has answered, or a new connection is up.
    package mutating func succeeded() { state = .closed(failures: 0) }

    /// The remote tier was not asked after all: whoever asks next is let through in place of this one.
    package mutating func withdrew(now: Int64) {
        if case .probing(let pause) = state { state = .open(until: now, pause: pause) }
    }

    /// The remote tier has not answered.
    ///
    /// - Parameter jitter: 0…1, drawn at random.
    /// - Returns: whether this opened the breaker.
    @discardableResult
    package mutating func failed(now: Int64, jitter: Double) -> Bool {
        switch state {
        case .closed(let failures) where failures + 1 < Self.failureLimit:
            state = .closed(failures: failures + 1)
            return false
        case .closed: open(for: Self.firstPause, now, jitter)
        case .probing(let pause): open(for: min(2 * pause, Self.longestPause), now, jitter)
        case .open: return false
        }
        return true
    }

    private mutating func open(for pause: Int64, _ now: Int64, _ jitter: Double) {
        state = .open(until: now + pause - Int64(Double(pause) / 2 * jitter), pause: pause)
    }
}
