//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import PurgeableMemory
import Testing
import _CacheTestSupport

@testable import MemoryCaching

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// madvise(2) refused by a real filter: the cache cannot leave eviction to the kernel and evicts itself.
@Suite struct PurgeableCacheSeccompTests {
    @Test func theCacheEvictsWhatTheKernelMayNotTake() async {
        await #expect(processExitsWith: .success) {
            let before = PurgeableCache<Int>(system: .live, ordinaryLimit: 8 << 20)
            for key in 0..<8000 { before.setBytes(bytes(of: key, count: 1000), forKey: key) }
            guard SeccompFilter.refuseAdvice(nil, with: ENOSYS) else { return print("SKIPPED: no seccomp") }
            for key in 0..<8000 {
                if let found = before.bytes(forKey: key) { #expect(found == bytes(of: key, count: 1000)) }
            }
            let cache = PurgeableCache<Int>(system: .live, ordinaryLimit: 8 << 20)
            for key in 0..<60_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
            #expect(cache.store.log.volatileBytes == 0)
            #expect(cache.store.log.ordinaryBytes <= 16 << 20)
            let count = cache.count
            #expect(count > 4000 && count < 20_000)
            #expect(cache.statistics.removals(.memoryPressure) == 60_000 - count)
            var held = 0
            for key in 0..<60_000 {
                guard let found = cache.bytes(forKey: key) else { continue }
                held += 1
                #expect(found == bytes(of: key, count: 1000))
            }
            #expect(held == count)
            cache.removeAll()
            #expect(cache.count == 0 && cache.bytes(forKey: 59_999) == nil)
        }
    }
}
#endif
