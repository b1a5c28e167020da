//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import MemoryCaching
import Testing

@Suite("The cost of Data")
struct DataCostTests {
    @Test("Data is measured where no cost is given")
    func cost() {
        let cache = MemoryCache<Int, Data>(totalCostLimit: 1000, options: .init(evictsUnderMemoryPressure: false))
        cache[1] = Data(repeating: 1, count: 600)
        #expect(cache.totalCost == 600)
        cache[2] = Data(repeating: 1, count: 600)
        #expect(cache.totalCost == 600 && cache.contains(2))
        cache[2] = Data()
        #expect(cache.totalCost == 1)
    }
}
