//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import MemoryCaching

@Suite("Loading: what a call counts", .timeLimit(.minutes(10)))
struct LoadingLookupTests {
    @Test("Each call counts one lookup, also where another one stores the value meanwhile", arguments: [0, 1])
    func lookupsCounted(_ kind: Int) async throws {
        let cache = LoadingFamilyTests.integerFaces[kind].init(.init())
        let made = cache.make(-1) {
            cache.set(-1, [2], nil)
            return [1]
        }
        #expect(made == [2] && cache.statistics.hits == 0 && cache.statistics.misses == 1)
        // Loads that land between the miss of another caller and its boarding.
        let keys = 1000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for key in 0..<keys {
                        let bytes: [UInt8]
                        switch worker {
                        case 0: bytes = cache.make(key) { [1] }
                        case 1:
                            let all = try await cache.get([key]) { _ in [key: [1]] }
                            bytes = all[key] ?? []
                        default: bytes = try await cache.get(key) { [1] }
                        }
                        #expect(bytes == [1])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(cache.statistics.hits + cache.statistics.misses == 4 * keys + 1)
    }
}
