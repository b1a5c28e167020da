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
