//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import TieredCaching

@Suite("The circuit breaker")
struct CircuitBreakerTests {
    @Test("Five failures in a row open it, a success in between does not")
    func opens() {
        var breaker = CircuitBreaker()
        for _ in 0..<4 { breaker.failed(now: 0, jitter: 0) }
        breaker.succeeded()
        let opened = (0..<4).map { _ in breaker.failed(now: 0, jitter: 0) }
        #expect(opened == [false, false, false, false])
        let before = breaker.permits(now: 0)
        let didOpen = breaker.failed(now: 0, jitter: 0)
        let after = breaker.permits(now: 999)
        #expect((before, didOpen, after) == (true, true, false))
    }

    @Test("One probe in each pause; pauses double up to 30 s, and jitter shortens them by a half at most")
    func probes() {
        var breaker = CircuitBreaker()
        for _ in 0..<5 { breaker.failed(now: 0, jitter: 0) }
        var now: Int64 = 0
        for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] as [Int64] {
            let answers = [now + pause - 1, now + pause, now + pause].map { breaker.permits(now: $0) }
            #expect(answers == [false, true, false])
            now += pause
            breaker.failed(now: now, jitter: 0)
        }
        now += 30_000
        let isProbe = breaker.permits(now: now)
        breaker.failed(now: now, jitter: 1)
        let answers = [now + 14_999, now + 15_000].map { breaker.permits(now: $0) }
        breaker.succeeded()
        let closed = (0..<2).map { _ in breaker.permits(now: now) }
        #expect(isProbe && answers == [false, true] && closed == [true, true])
    }

    @Test("A probe that sends nothing is given back: the next one is let through, and alone")
    func withdrawal() {
        var breaker = CircuitBreaker()
        for _ in 0..<5 { breaker.failed(now: 0, jitter: 0) }
        // Only a probe can be withdrawn.
        breaker.withdrew(now: 0)
        let before = [999, 1_000, 1_000].map { breaker.permits(now: $0) }
        breaker.withdrew(now: 1_001)
        let after = (0..<2).map { _ in breaker.permits(now: 1_001) }
        breaker.failed(now: 1_001, jitter: 0)
        let later = [3_000, 3_001].map { breaker.permits(now: $0) }
        #expect(before == [false, true, false] && after == [true, false] && later == [false, true])
        var closed = CircuitBreaker()
        for _ in 0..<4 { closed.failed(now: 0, jitter: 0) }
        closed.withdrew(now: 0)
        let opens = closed.failed(now: 0, jitter: 0)
        #expect(opens)
    }
}

@Suite("Changes while a flight waits for another process")
struct WaitingFlightTests {
    struct Broken: Error {}

    @Test("After the wait a miss has no fallback but what it is given anew", arguments: [nil, 2])
    func fallback(givenAnew: Int?) {
        var miss = MissMachine<Int>()
        _ = miss.next(.absent)
        _ = miss.next(.held(stale: 1))
        _ = miss.next(.woken)
        #expect(!miss.hasStale)
        _ = givenAnew.map { miss.next(.granted(stale: $0)) } ?? miss.next(.full)
        var answers: [Int?] = []
        for step in miss.next(.loadFailed(Broken())) {
            if case .landStale(let value) = step { answers.append(value) }
            if case .fail = step { answers.append(nil) }
        }
        #expect(answers == [givenAnew])
    }

    @Test("A flight answers with what it had before a wait only if nothing has changed, and then alone")
    func resuming() {
        func waiting() -> NearMachine<Int> {
            var near = NearMachine<Int>()
            _ = near.connected(now: 0, aliveFor: .max)
            _ = near.joined(near.joinAttempt, prefix: "e")
            _ = near.file(1, forKey: "k")
            _ = near.begin(1, forKey: "k")
            _ = near.pause(1, forKey: "k")
            return near
        }
        let changes: [(inout NearMachine<Int>) -> [Int]] = [
            { $0.changed("k").woken }, { $0.flushed().woken }, { $0.lost(now: 0).woken },
        ]
        for change in changes {
            var near = waiting()
            let woken = change(&near)
            let mayAnswer = near.resume(1, forKey: "k")
            #expect(woken == [1] && !mayAnswer)
        }
        var near = waiting()
        let mayAnswer = near.resume(1, forKey: "k")
        let revoked = near.changed("k").revoked
        #expect(mayAnswer && revoked == [1] && near.flight(of: "k") == nil)
    }
}

@Suite("Stamps of near entries")
struct NearStampTests {
    @Test("Served is what has the generation and is fresh")
    func served() {
        let stamp = NearStamp(generation: 7, freshUntil: 1_000)
        #expect(stamp.isServed(under: NearStamp.word(generation: 7, now: 999)))
        #expect(!stamp.isServed(under: NearStamp.word(generation: 7, now: 1_000)))
        #expect(!stamp.isServed(under: NearStamp.word(generation: 6, now: 0)))
        #expect(!stamp.isServed(under: NearStamp.word(generation: 8, now: 0)))
        #expect(!stamp.isServed(under: NearStamp.servesNothing))
    }

    @Test("The last generation and the last moment keep to their bits")
    func edges() {
        let stamp = NearStamp(generation: 1 << 24 - 2, freshUntil: .max)
        #expect(stamp.generation == 1 << 24 - 2)
        #expect(stamp.freshUntil == 1 << 40 - 1)
        #expect(!stamp.isServed(under: NearStamp.servesNothing))
        #expect(NearStamp(generation: 1, freshUntil: .min).freshUntil == 0)
    }
}
