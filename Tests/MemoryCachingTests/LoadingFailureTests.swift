//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Testing

/// Failures that are remembered while others are on their way to load.
@Suite("Loading: a failure that is remembered")
struct LoadingFailureTests {
    private struct Outage: Error {}

    /// A caller that has seen neither a failure nor a load may find that the load has ended meanwhile: it looks for the
    /// failure again, as for a value. Where it did not, 1 of 20,000 to 3 of 1,000 such rounds made a second load.
    @Test("one failure answers all who come while it is remembered", arguments: [false, true])
    func oneLoad(isBulk: Bool) async {
        let cache = MemoryCache<Int, Int>(options: .init(failureLifetime: .seconds(3600)))
        for key in 0..<20_000 {
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<3 {
                            if isBulk {
                                _ = try? await cache.values(forKeys: [key]) { _ -> [Int: Int] in throw Outage() }
                            } else {
                                _ = try? await cache.value(forKey: key) { throw Outage() }
                            }
                        }
                    }
                }
            }
        }
        #expect(cache.statistics.loads == 20_000)
    }
}
