//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import PurgeableMemory
import Testing
import _CacheTestSupport

@testable import MemoryCaching
@testable import MemoryPressure

/// Values whose content can be discarded, in caches of every type that can hold one.
@Suite("Content that can be discarded, in MemoryCache", .timeLimit(.minutes(10)))
struct MemoryCacheContentTests {
    /// Sets pages, discards their content, and expects that they are none by whatever way somebody comes by.
    private func expectNoneIsLeft<Value: Sendable>(_ type: Value.Type, _ wrap: @escaping @Sendable (Page) -> Value)
        async
    {
        let cache = MemoryCache<Int, Value>(options: .init(evictsUnderMemoryPressure: false))
        let pages = (0..<100).map { _ in Page() }
        func fill() {
            for (key, page) in pages.enumerated() { cache.setValue(wrap(page), forKey: key) }
        }
        fill()
        #expect((0..<100).allSatisfy { cache.value(forKey: $0) != nil })
        for page in pages { page.discardContentIfPossible() }
        #expect((0..<100).allSatisfy { cache.value(forKey: $0) == nil })
        #expect(cache.count == 0 && cache.statistics.removals(.discarded) == 100)

        fill()
        _ = cache.value(forKey: 0, orSet: { wrap(Page()) })
        _ = await cache.value(forKey: 1) { () async -> Value in wrap(Page()) }
        #expect(cache.value(forKey: 0) != nil && cache.value(forKey: 1) != nil)
        #expect(cache.statistics.removals(.discarded) == 102)

        _ = cache.engine.discardUnusedContent()
        #expect(cache.count == 0 && cache.statistics.removals(.discarded) == 202)
    }

    @Test("What has lost its content leaves, whatever type holds it")
    func everyTypeThatHoldsAnObject() async {
        await expectNoneIsLeft(Page.self) { $0 }
        await expectNoneIsLeft(Page?.self) { $0 }
        await expectNoneIsLeft((any DiscardableContent & Sendable).self) { $0 }
        await expectNoneIsLeft((any Sendable).self) { $0 }
        await expectNoneIsLeft((any Sendable)?.self) { $0 }
    }

    /// Searched for and discarded before that, content went by chance instead: with a skewed load .30 of the lookups hit
    /// instead of .42, and where the rest was in use each eviction looked at a million objects.
    @Test("Where room is made and no level has changed, content that nobody accesses has its turn like everything else")
    func orderOfUse() {
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let governor = MemoryGovernor(
            monitor: monitor,
            gauge: MemoryGauge(SystemFiles(root: "/nonexistent")),
            now: { 0 },
            trimAllocator: {},
            takeCensus: { nil },
            residentBytes: { nil }
        )
        governor.adopted()
        let cache = CacheEngine<Int, any Sendable>(ordering: .reuse, hooks: .discardableContent(), governor: governor)
        let pages = (0..<400).map { _ in Page() }
        for key in 0..<400 { cache.setValue(key, forKey: key, cost: 1000) }
        for (key, page) in pages.enumerated() { cache.setValue(page, forKey: 400 + key, cost: 1000) }
        governor.evict(50_000)
        #expect(cache.count == 750 && pages.allSatisfy { !$0.isContentDiscarded })
        for key in 0..<50 { #expect(!cache.contains(key)) }
    }

    @Test("What is discarded counts as an entry is estimated to hold, where it has no cost", arguments: [0, 700])
    func bytesDiscarded(cost: Int) {
        let cache = MemoryCache<Int, any Sendable>(options: .init(evictsUnderMemoryPressure: false))
        for key in 0..<100 { cache.setValue(Page(), forKey: key, cost: cost) }
        let bytes = cache.engine.bytesPerCostlessEntry
        #expect(cache.engine.discardUnusedContent() == 100 * (cost > 0 ? cost : bytes))
    }

    @Test("What is no object and stands beside pages stays")
    func othersStay() {
        let cache = MemoryCache<Int, any Sendable>(options: .init(evictsUnderMemoryPressure: false))
        let page = Page()
        for key in 0..<10 { cache.setValue([key, key], forKey: key) }
        cache.setValue((1, 2, 3, 4), forKey: 10)
        cache.setValue(page, forKey: 11)
        page.discardContentIfPossible()
        cache.engine.removeDiscarded()
        #expect(cache.count == 11 && cache.value(forKey: 11) == nil)
        #expect((0..<10).allSatisfy { cache.value(forKey: $0) as? [Int] == [$0, $0] })
    }

    @Test("An object that is set again when its lifetime is over is there with its content", arguments: [false, true])
    func revalidation(isKept: Bool) async {
        let clock = ManualClock()
        let options = MemoryCacheOptions<Int, Page>(
            expiresAfter: .seconds(1),
            keepsExpiredFor: isKept ? .seconds(60) : nil,
            clock: clock,
            evictsUnderMemoryPressure: false
        )
        // With and without a limit, of which the page takes most.
        for limit in [0, 100] {
            let cache = MemoryCache<Int, Page>(totalCostLimit: limit, options: options, cost: { _, _ in 90 })
            let page = Page()
            cache.setValue(page, forKey: 1, cost: 90)
            clock.advance(by: .seconds(2))
            #expect(cache.setValue(page, forKey: 1, cost: 90))
            #expect(cache.value(forKey: 1) === page && !page.isContentDiscarded)
            clock.advance(by: .seconds(2))
            #expect(cache.value(forKey: 1, orSet: { page }) === page)
            clock.advance(by: .seconds(2))
            #expect(await cache.value(forKey: 1) { () async -> Page in page } === page)
            #expect(cache.value(forKey: 1) === page && !page.isContentDiscarded)
        }
    }

    @Test("What leaves keeps its content for whoever has it")
    func whatLeavesKeepsItsContent() {
        let second = MemoryCache<Int, Page>(options: .init(evictsUnderMemoryPressure: false))
        let options = MemoryCacheOptions<Int, Page>(
            removalHandler: { key, page, _ in second.setValue(page, forKey: key) },
            evictsUnderMemoryPressure: false
        )
        let cache = MemoryCache<Int, Page>(countLimit: 1, options: options)
        for key in 0..<10 { cache.setValue(Page(), forKey: key) }
        #expect((0..<9).allSatisfy { second.value(forKey: $0)?.isContentDiscarded == false })
        let removed = cache.removeValue(forKey: 9)
        #expect(removed?.isContentDiscarded == false)
        let shared = Page()
        let both = MemoryCache<Int, Page>(options: .init(evictsUnderMemoryPressure: false))
        both.setValue(shared, forKey: 1)
        both.setValue(shared, forKey: 2)
        both.removeValue(forKey: 1)
        #expect(both.value(forKey: 2) === shared)
        both.removeAll()
        #expect(!shared.isContentDiscarded)
    }
}
