//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import TieredCaching

@Suite struct WakeSignalTests {
    /// The timer of a wait may be on its way when the wait has ended; it must not end the next one.
    @Test func aLateTimerEndsNoLaterWait() async {
        let wake = WakeSignal()
        let first = await wake.wait(atMost: .nanoseconds(1))
        #expect(!first)
        async let second = wake.wait(atMost: .seconds(3600))
        await yieldUntil { wake.isAwaited }
        wake.giveUp(1)
        #expect(wake.isAwaited)
        wake.signal()
        let isWoken = await second
        #expect(isWoken)
    }

    @Test func aSignalBeforeTheWaitIsNotLost() async {
        let wake = WakeSignal()
        wake.signal()
        let isWoken = await wake.wait(atMost: .seconds(3600))
        #expect(isWoken)
    }

    @Test func cancellationEndsAWait() async {
        let wake = WakeSignal()
        let task = Task { await wake.wait(atMost: .seconds(3600)) }
        await yieldUntil { wake.isAwaited }
        task.cancel()
        let isWoken = await task.value
        #expect(!isWoken)
    }
}
