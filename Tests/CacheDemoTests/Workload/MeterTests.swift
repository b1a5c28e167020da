//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import cache_demo

@Suite struct MeterTests {
    @Test func `each request is counted once, where it belongs`() {
        let meter = Meter()
        meter.record(.cache, time: .microseconds(10), right: true)
        meter.record(.cache, time: .microseconds(10), right: false)
        meter.record(.origin, time: .milliseconds(5), right: true)
        meter.record(.joined, time: .milliseconds(3), right: true)
        meter.recordFailure()
        let sample = meter.sample
        #expect(sample.requests == 5)
        #expect(sample.hits == 2)
        #expect(sample.downloads == 1)
        #expect(sample.joined == 1)
        #expect(sample.failures == 1)
        #expect(sample.wrong == 1)
        #expect(sample.hitRate == 0.4)
    }

    @Test(arguments: [1, 2, 7, 8, 9, 100, 12_345, 9_999_999, Int(Int32.max)])
    func `a median is right to an eighth`(nanoseconds: Int) {
        var histogram = LatencyHistogram()
        for _ in 0..<3 { histogram.record(.nanoseconds(nanoseconds)) }
        histogram.record(.seconds(9))
        #expect(histogram.median <= nanoseconds)
        #expect(Double(histogram.median) >= Double(nanoseconds) * 8 / 9)
    }

    @Test func `no durations have no median`() { #expect(LatencyHistogram().median == 0) }

    @Test func `a report survives the way to the parent, and other lines are words`() {
        var sample = Sample()
        sample.requests = 3
        sample.evictions = ["pressure": 2]
        guard case .sample(sample) = ChildReport(line: ChildReport.sample(sample).line) else {
            Issue.record("not the same sample")
            return
        }
        guard case .words("Fatal error") = ChildReport(line: "Fatal error") else {
            Issue.record("not words")
            return
        }
    }
}
