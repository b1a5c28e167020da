//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import Synchronization
import Testing
import TieredCaching

/// Notes what it receives, and how many calls of it there are at once.
private final class Listener: RemoteTierSubscriber {
    private let state = Mutex((events: [RemoteTierEvent](), depth: 0, deepest: 0))
    private let react: @Sendable (RemoteTierEvent) -> Void

    init(_ react: @escaping @Sendable (RemoteTierEvent) -> Void = { _ in }) { self.react = react }

    var events: [RemoteTierEvent] { state.withLock { $0.events } }
    var deepest: Int { state.withLock { $0.deepest } }

    func receive(_ event: RemoteTierEvent) {
        state.withLock { state in
            state.events.append(event)
            state.depth += 1
            state.deepest = max(state.deepest, state.depth)
        }
        react(event)
        state.withLock { $0.depth -= 1 }
    }
}

@Suite("Events of a tier inside the process", .timeLimit(.minutes(10)))
struct InProcessTierTests {
    private let tier = InProcessServer().makeTier()
    private let connected = RemoteTierEvent.connected(aliveFor: .seconds(1 << 30))

    @Test("A subscriber that causes events receives them after the present one, and holds up nobody")
    func reentrant() {
        let listener = Listener { [tier] event in
            if event == .tick {
                tier.disconnect()
                tier.connect()
            }
        }
        tier.subscribe(listener)
        tier.report(.tick)
        #expect(listener.events == [connected, .tick, .lost, connected])
        #expect(listener.deepest == 1)
    }

    @Test("A subscriber that subscribes another one is no knot")
    func subscribing() {
        let second = Listener()
        let first = Listener { [tier] event in if event == .flushed { tier.subscribe(second) } }
        tier.subscribe(first)
        tier.report(.flushed)
        // What came before it subscribed is not for it.
        #expect(second.events == [connected])
    }

    @Test("Events of many threads come one at a time, in each thread's order, and have come when the call returns")
    func concurrent() {
        let listener = Listener()
        tier.subscribe(listener)
        let missing = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 4) { [tier] thread in
            for number in 0..<500 {
                let event = RemoteTierEvent.invalidated(["\(thread)", "\(number)"])
                tier.report(event)
                if number % 50 == 0, !listener.events.contains(event) { missing.withLock { $0 += 1 } }
            }
        }
        #expect(missing.withLock { $0 } == 0)
        #expect(listener.deepest == 1)
        for thread in 0..<4 {
            let own = listener.events.compactMap { event -> String? in
                if case .invalidated(let words) = event, words[0] == "\(thread)" { words[1] } else { nil }
            }
            #expect(own == (0..<500).map(String.init))
        }
    }
}
