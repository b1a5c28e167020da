//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing

@Suite struct PressureHysteresisTests {
    let limit = 1024
    let second: UInt64 = 1_000_000_000

    @Test func usageRaisesAtFifteenSixteenthsAndThirtyOneThirtySeconds() {
        var hysteresis = PressureHysteresis()
        hysteresis.sample(used: 959, limit: limit, at: 0)
        #expect(hysteresis.level == .normal)
        hysteresis.sample(used: 960, limit: limit, at: 0)
        #expect(hysteresis.level == .warning)
        hysteresis.sample(used: 992, limit: limit, at: 0)
        #expect(hysteresis.level == .critical)
    }

    @Test func aLevelIsLeftLowerThanItWasReachedAndStepByStep() {
        var hysteresis = PressureHysteresis()
        hysteresis.sample(used: 992, limit: limit, at: 0)
        hysteresis.sample(used: 970, limit: limit, at: 5 * second)
        #expect(hysteresis.level == .critical)
        hysteresis.sample(used: 0, limit: limit, at: 5 * second)
        #expect(hysteresis.level == .warning)
        hysteresis.sample(used: 0, limit: limit, at: 5 * second + 1)
        #expect(hysteresis.level == .warning)
        hysteresis.sample(used: 0, limit: limit, at: 6 * second)
        #expect(hysteresis.level == .normal)
    }

    @Test func anEventHoldsItsLevel() {
        var hysteresis = PressureHysteresis()
        hysteresis.report(.warning, at: 0, holdFor: 4 * second)
        hysteresis.sample(used: 0, limit: limit, at: 4 * second - 1)
        #expect(hysteresis.level == .warning)
        hysteresis.report(.warning, at: 4 * second - 1, holdFor: 4 * second)
        hysteresis.sample(used: 0, limit: limit, at: 5 * second)
        #expect(hysteresis.level == .warning)
        hysteresis.sample(used: 0, limit: limit, at: 8 * second)
        #expect(hysteresis.level == .normal)
    }

    @Test func withoutUsageALevelIsLeftWhenItsHoldIsOver() {
        var hysteresis = PressureHysteresis()
        hysteresis.report(.critical, at: 0, holdFor: 4 * second)
        hysteresis.expire(at: 4 * second - 1)
        #expect(hysteresis.level == .critical)
        hysteresis.expire(at: 4 * second)
        #expect(hysteresis.level == .warning)
        hysteresis.expire(at: 5 * second)
        #expect(hysteresis.level == .normal)
    }

    @Test func aLesserEventDoesNotLowerALevel() {
        var hysteresis = PressureHysteresis()
        hysteresis.report(.critical, at: 0, holdFor: second)
        hysteresis.report(.warning, at: 1, holdFor: second)
        #expect(hysteresis.level == .critical)
    }

    @Test func aClockThatJumpsBackEndsTheHoldRatherThanKeepingItForEver() {
        var hysteresis = PressureHysteresis()
        hysteresis.report(.warning, at: 100 * second, holdFor: 4 * second)
        hysteresis.sample(used: 0, limit: limit, at: 1)
        #expect(hysteresis.level == .normal)
    }
}

@Suite struct PressureWatchTests {
    private func instruction(_ environment: [String: String]) -> PressureWatch.Instruction {
        PressureWatch.instruction { environment[$0] }
    }

    @Test func systemdsExampleDecodesToATriggerWithItsNul() {
        let path = "/sys/fs/cgroup/system.slice/app.service/memory.pressure"
        let expected = PressureWatch(path: path, greeting: Array("some 200000 2000000\0".utf8))
        let environment = [
            "MEMORY_PRESSURE_WATCH": path, "MEMORY_PRESSURE_WRITE": "c29tZSAyMDAwMDAgMjAwMDAwMAA=",
        ]
        #expect(instruction(environment) == .watch(expected))
    }

    @Test func devNullTurnsWatchingOff() {
        #expect(instruction(["MEMORY_PRESSURE_WATCH": "/dev/null"]) == .off)
    }

    @Test func nothingSaidIsUnspecified() {
        #expect(instruction([:]) == .unspecified)
        #expect(instruction(["MEMORY_PRESSURE_WATCH": ""]) == .unspecified)
        #expect(instruction(["MEMORY_PRESSURE_WATCH": "relative/path"]) == .unspecified)
        #expect(instruction(["MEMORY_PRESSURE_WRITE": "c29tZQ=="]) == .unspecified)
    }

    @Test func withoutAGreetingNothingIsWritten() {
        #expect(instruction(["MEMORY_PRESSURE_WATCH": "/run/x"]) == .watch(PressureWatch(path: "/run/x", greeting: [])))
    }

    @Test(arguments: ["c29tZQ", "c29tZQ=", "!!!!", "====", "c2=tZQ==", "c29t\nZQ=="])
    func brokenBase64IsNotWatched(_ text: String) {
        let environment = ["MEMORY_PRESSURE_WATCH": "/run/x", "MEMORY_PRESSURE_WRITE": text]
        #expect(instruction(environment) == .unspecified)
    }
}
