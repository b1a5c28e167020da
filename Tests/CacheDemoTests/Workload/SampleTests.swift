//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import cache_demo

@Suite struct SampleTests {
    @Test(arguments: [1, 2, 7, 8, 9, 100, 12_345, 9_999_999, Int(Int32.max)])
    func `a median is right to a tenth`(nanoseconds: Int) {
        var histogram = LatencyHistogram()
        for _ in 0..<3 { histogram.record(.nanoseconds(nanoseconds)) }
        histogram.record(.seconds(9))
        #expect(abs(Double(histogram.median) - Double(nanoseconds)) <= max(1, Double(nanoseconds) * 0.1))
    }

    @Test func `no durations have no median`() { #expect(LatencyHistogram().median == 0) }

    @Test func `a window's hit rate is of that window alone`() {
        var record = RunRecord(contender: .dictionary, limitBytes: nil)
        #expect(record.recentHitRate == nil)
        for (time, requests, hits) in [(0.5, 100, 0), (1.0, 200, 0), (1.5, 300, 100), (2.0, 400, 200)] {
            var sample = Sample()
            (sample.time, sample.requests, sample.hits) = (time, requests, hits)
            record.samples.append(sample)
        }
        #expect(record.recentHitRate == 1)
        #expect(record.last.hitRate() == 0.5)
    }
}
