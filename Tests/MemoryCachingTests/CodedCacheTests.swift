//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Values as bytes in purgeable memory", .timeLimit(.minutes(10)))
struct CodedCacheTests {
    enum Trouble: Error { case now }

    /// A codec that refuses empty texts.
    struct Picky: CacheCodec {
        func encode(_ value: String) throws -> [UInt8] {
            if value.isEmpty { throw Trouble.now }
            return Array(value.utf8)
        }

        func decode(_ bytes: RawSpan) throws -> String { try StringCodec().decode(bytes) }
    }

    @Test("Values come back, expire, and are loaded once")
    func values() async throws {
        let clock = ManualClock()
        let cache = CodedCache<String, String>(options: .init(expiresAfter: .seconds(10), clock: clock), codec: .string)
        try cache.setValue("one", forKey: "a")
        try cache.setValue("two", forKey: "b", expiresAfter: .seconds(20))
        #expect(cache.value(forKey: "a") == "one")
        clock.advance(by: .seconds(11))
        #expect(cache.value(forKey: "a") == nil && cache.value(forKey: "b") == "two")
        #expect(try await cache.value(forKey: "a") { "three" } == "three")
        #expect(try await cache.value(forKey: "a") { "four" } == "three")
        #expect(try await cache.refreshValue(forKey: "a") { "five" } == "five")
        #expect(cache.value(forKey: "a") == "five")
        #expect(cache.removeValue(forKey: "a") && cache.value(forKey: "a") == nil)
        #expect(cache.bytes.statistics.loads == 2)
    }

    @Test("Bytes that stand for no value are missing, and replaced by a load")
    func otherVersion() async throws {
        let cache = CodedCache<Int, String>(codec: .string)
        cache.bytes.setBytes([0xFF, 0xFE], forKey: 1)
        #expect(cache.value(forKey: 1) == nil)
        #expect(try await cache.value(forKey: 1) { "new" } == "new")
        #expect(cache.value(forKey: 1) == "new")
    }

    @Test("Many keys are loaded by one call, those with bytes that stand for no value by a second; the bytes are a hit")
    func bulkOverOtherVersion() async throws {
        let cache = CodedCache<Int, String>(codec: .string)
        for key in [1, 4] { cache.bytes.setBytes([0xFF, 0xFE], forKey: key) }
        let calls = Mutex<[[Int]]>([])
        let values = try await cache.values(forKeys: 1...4) { keys in
            calls.withLock { $0.append(keys.sorted()) }
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, "\($0)") })
        }
        #expect(values == [1: "1", 2: "2", 3: "3", 4: "4"])
        #expect(calls.withLock { $0 } == [[2, 3], [1, 4]])
        let statistics = cache.bytes.statistics
        #expect(statistics.hits == 2 && statistics.misses == 4)
    }

    @Test("A failed load over bytes of another version is remembered as any other")
    func failureOverOtherVersion() async {
        let cache = CodedCache<Int, String>(options: .init(failureLifetime: .seconds(3600)), codec: .string)
        cache.bytes.setBytes([0xFF, 0xFE], forKey: 1)
        for _ in 0..<10 {
            await #expect(throws: Trouble.now) { try await cache.value(forKey: 1) { throw Trouble.now } }
        }
        #expect(cache.bytes.statistics.loads == 1)
    }

    /// A cache that keeps what has expired, with an expired entry of each version: 1 stands for no value.
    func expired(_ clock: ManualClock, softLoadTimeout: Duration? = nil) throws -> CodedCache<Int, String> {
        let cache = CodedCache<Int, String>(
            options: .init(
                expiresAfter: .seconds(10),
                keepsExpiredFor: .seconds(60),
                softLoadTimeout: softLoadTimeout,
                clock: clock
            ),
            codec: .string
        )
        cache.bytes.setBytes([0xFF, 0xFE], forKey: 1)
        try cache.setValue("old", forKey: 2)
        clock.advance(by: .seconds(20))
        return cache
    }

    @Test("Expired bytes of another version are no fallback when a load fails")
    func failureOverExpired() async throws {
        let cache = try expired(ManualClock())
        await #expect(throws: Trouble.now) { try await cache.value(forKey: 1) { throw Trouble.now } }
        #expect(cache.bytes.statistics.loads == 1)
        #expect(try await cache.value(forKey: 2) { throw Trouble.now } == "old")
        await #expect(throws: Trouble.now) { try await cache.values(forKeys: [1]) { _ in throw Trouble.now } }
        #expect(try await cache.values(forKeys: [2]) { _ in throw Trouble.now } == [2: "old"])
        let statistics = cache.bytes.statistics
        #expect(statistics.loads == 4 && statistics.fallbacks == 2)
    }

    @Test("Nor when it takes long: who asks waits for it")
    func slowLoadOverExpired() async throws {
        let clock = ManualClock()
        let cache = try expired(clock, softLoadTimeout: .seconds(2))
        let (gate, calls) = (Gate(), Counter())
        let ask: @Sendable () async throws -> String = {
            try await cache.value(forKey: 1) {
                calls.increment()
                await gate.pass()
                return "new"
            }
        }
        let first = Task { try await ask() }
        await yieldUntil { clock.sleeperCount == 1 && calls.value == 1 }
        clock.advance(by: .seconds(2))
        await yieldUntil { cache.bytes.loading.flights.flight(of: 1)?.isOverdue ?? true }
        let second = Task { try await ask() }
        await yieldUntil { cache.bytes.loading.waiterCount(forKey: 1) == 2 || cache.bytes.statistics.fallbacks > 0 }
        gate.open()
        #expect(try await first.value == "new")
        #expect(try await second.value == "new")
        #expect(calls.value == 1 && cache.bytes.statistics.fallbacks == 0)
    }

    @Test("Bulk loads and get-or-set find, make and store values, and replace bytes that stand for none")
    func more() async throws {
        let cache = CodedCache<Int, String>(codec: .string)
        let found = try await cache.values(forKeys: [1, 2, 3]) { _ in [1: "one", 2: "two"] }
        #expect(found == [1: "one", 2: "two"])
        cache.bytes.setBytes([0xFF, 0xFE], forKey: 2)
        cache.bytes.setBytes([0xFF, 0xFE], forKey: 4)
        let again = try await cache.values(forKeys: [1, 2, 4]) { missing in
            #expect(Set(missing) == [2, 4])
            return [2: "new", 4: "four"]
        }
        #expect(again == [1: "one", 2: "new", 4: "four"])
        #expect(cache.value(forKey: 2) == "new" && cache.value(forKey: 4) == "four")

        #expect(try cache.value(forKey: 5, orSet: { "five" }) == "five")
        #expect(try cache.value(forKey: 5, orSet: { "six" }) == "five")
        cache.bytes.setBytes([0xFF, 0xFE], forKey: 5)
        #expect(try cache.value(forKey: 5, orSet: { "seven" }) == "seven")
        #expect(cache.value(forKey: 5) == "seven")
        #expect(throws: Trouble.now) { try cache.value(forKey: 6, orSet: { throw Trouble.now }) }
        #expect(cache.value(forKey: 6) == nil)
    }

    @Test("A codec that understands nothing is an error, and no endless loop")
    func deafCodec() async {
        struct Deaf: CacheCodec {
            func encode(_ value: String) -> [UInt8] { [1] }
            func decode(_ bytes: RawSpan) throws -> String { throw Trouble.now }
        }
        let cache = CodedCache<Int, String>(codec: Deaf())
        #expect(throws: Trouble.now) { try cache.value(forKey: 1, orSet: { "a" }) }
        await #expect(throws: Trouble.now) { try await cache.values(forKeys: [1]) { _ in [1: "a"] } }
        await #expect(throws: Trouble.now) { try await cache.value(forKey: 1) { "a" } }
    }

    @Test("What cannot be encoded is not stored, and the caller hears of it")
    func notEncodable() async throws {
        let cache = CodedCache<Int, String>(codec: Picky())
        try cache.setValue("old", forKey: 1)
        #expect(throws: Trouble.now) { try cache.setValue("", forKey: 1) }
        #expect(cache.value(forKey: 1) == "old")
        await #expect(throws: Trouble.now) { try await cache.value(forKey: 2) { "" } }
        #expect(cache.value(forKey: 2) == nil)
    }

    /// A codec that does something when it meets bytes of another version, as another thread might at that moment.
    private final class Interrupted: CacheCodec {
        let interruption = Mutex<(@Sendable () -> Void)?>(nil)

        func encode(_ value: Int) -> [UInt8] { [1, UInt8(value)] }

        func decode(_ bytes: RawSpan) throws -> Int {
            let bytes = bytes.withUnsafeBytes { [UInt8]($0) }
            if bytes.first == 1 { return Int(bytes[1]) }
            let act = interruption.withLock { interruption in
                defer { interruption = nil }
                return interruption
            }
            act?()
            throw Trouble.now
        }
    }

    @Test("What is stored while bytes of another version are met keeps its lifetime")
    func storedMeanwhile() async throws {
        let clock = ManualClock()
        let codec = Interrupted()
        let cache = CodedCache<Int, Int>(options: .init(clock: clock), codec: codec)
        for key in 0..<3 {
            cache.bytes.setBytes([0], forKey: key)
            codec.interruption.withLock {
                $0 = { _ = try? cache.setValue(7, forKey: key, expiresAfter: .seconds(1)) }
            }
            let value =
                switch key {
                case 0: try cache.value(forKey: key, orSet: { 9 })
                case 1: try await cache.value(forKey: key) { 9 }
                default: try await cache.values(forKeys: [key]) { _ in [key: 9] }[key]
                }
            #expect(value == 7 && cache.value(forKey: key) == 7)
            clock.advance(by: .seconds(2))
            #expect(cache.value(forKey: key) == nil)
        }
    }

    @Test("Looking for bytes of another version stops no load")
    func loadMeanwhile() async throws {
        let cache = CodedCache<Int, Int>(codec: Interrupted())
        let permission = Gate()
        let calls = Counter()
        let load = Task {
            try await cache.value(forKey: 1) {
                calls.increment()
                await permission.pass()
                return 1
            }
        }
        await yieldUntil { calls.value == 1 }
        // As who met such bytes a moment ago, which have been removed since.
        cache.bytes.removeBytes(forKey: 1) { _ in true }
        permission.open()
        #expect(try await load.value == 1)
        #expect(cache.value(forKey: 1) == 1)
    }
}
