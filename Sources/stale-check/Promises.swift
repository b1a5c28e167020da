//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#if ValkeySupport
import Foundation
import MemoryCaching
import Synchronization
import TieredCaching
import ValkeyCaching

// The promises beside coherence, each against a server of its own.
extension StaleCheck {
    typealias Cache = TieredCache<Int, UInt64>

    func makeMember(_ port: Int, _ options: TieredCacheOptions? = nil) async throws -> (tier: ValkeyTier, cache: Cache)
    {
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        let cache = Cache(name: "check", remote: tier, codec: TrivialCodec(), options: options ?? self.options)
        try await tier.waitUntilConnected()
        while !cache.isCoherent { try await Task.sleep(for: .milliseconds(1)) }
        return (tier, cache)
    }

    // MARK: Own writes

    /// Sixty-four tasks write and read back, with readers of the same keys beside them and in another tier.
    func checkOwnWrites(_ port: Int) async throws {
        let (here, there) = (try await makeMember(port), try await makeMember(port))
        let (done, violations, failed, over) = (Tally(), Tally(), Tally(), Tally())
        await withTaskGroup(of: Void.self) { group in
            for key in 0..<64 {
                group.addTask {
                    var version: UInt64 = 0
                    while done.count() <= rounds {
                        version += 1
                        do {
                            try await here.cache.setValue(version, forKey: key)
                            let value = try await here.cache.value(forKey: key)
                            if value != version { violations.count() }
                        } catch { failed.count() }
                    }
                    over.count()
                }
            }
            for member in [here, there] {
                group.addTask {
                    while over.value == 0 {
                        for key in 0..<64 { _ = try? await member.cache.value(forKey: key) { 0 } }
                    }
                }
            }
        }
        print(
            "own writes: \(rounds) rounds, \(violations.value) violations,"
                + " \(failed.value) failed"
        )
        await here.tier.shutDown()
        await there.tier.shutDown()
    }

    // MARK: Old fills

    /// Loads that are overtaken by a change: nothing may have the old value afterwards.
    func checkOldFills(_ port: Int) async throws {
        let (here, there, third) = (try await makeMember(port), try await makeMember(port), try await makeMember(port))
        let (old, failed, overtaken) = (Tally(), Tally(), Tally())
        await withTaskGroup(of: Void.self) { group in
            for key in 0..<rounds {
                if key >= 32 { await group.next() }
                group.addTask {
                    let changes = Tally()
                    @Sendable func pause() async {
                        try? await Task.sleep(for: .microseconds(Int.random(in: 0..<2_000)))
                    }
                    do {
                        async let change: Void = {
                            await pause()
                            changes.count()
                            try await there.cache.removeValue(forKey: key)
                        }()
                        await pause()
                        let loaded = try await here.cache.value(forKey: key) {
                            let value = UInt64(1 + changes.value)
                            await pause()
                            return value
                        }
                        try await change
                        if loaded == 1 { overtaken.count() }
                        let stored = try await third.cache.value(forKey: key)
                        // The report may be on its way to the process that loaded; its next answer is behind it.
                        let read = try await here.cache.tierValue(forKey: key)
                        let near = here.cache.nearValue(forKey: key)
                        if [stored, read, near].contains(1) { old.count() }
                    } catch { failed.count() }
                }
            }
        }
        let refused = here.cache.statistics.refusedFills
        print(
            "old fills: \(rounds) rounds, \(old.value) old values left,"
                + " \(overtaken.value) loads had the old value, \(refused) fills refused,"
                + " \(failed.value) failed"
        )
        for member in [here, there, third] { await member.tier.shutDown() }
    }

    // MARK: One load

    /// Processes that ask for the same cold keys at once. The one that loads first dies if `isDeadly`.
    func checkOneLoad(_ port: Int, _ memory: String) async throws {
        let log = memory + "-loads"
        defer { unlink(log) }
        let begin = Date().addingTimeInterval(2).timeIntervalSince1970
        let children = try (0..<4).map { _ in
            try startChild(.caller, port, log, ["--begin", "\(begin)"] + (deadly ? ["--deadly"] : []))
        }
        for child in children { child.waitUntilExit() }
        let loads = (try? Data(contentsOf: URL(fileURLWithPath: log)))?.map { Int($0) } ?? []
        let killed = children.count { $0.terminationReason == .uncaughtSignal }
        let wrong = children.count { $0.terminationReason == .exit && $0.terminationStatus != 0 }
        let counts = Dictionary(loads.map { ($0, 1) }, uniquingKeysWith: +)
        print(
            "one load: 4 processes x 100 callers, \(counts.count) keys, loads of each key"
                + " \(counts.values.min() ?? 0) to \(counts.values.max() ?? 0), killed \(killed), wrong \(wrong)"
        )
    }

    func runCaller() async throws {
        let lease = Duration.milliseconds(1_500)
        let member = try await makeMember(port, TieredCacheOptions(softTimeout: .seconds(5), leaseTime: lease))
        let log = open(memory, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try await Task.sleep(for: .seconds(begin - Date().timeIntervalSince1970))
        // A leader that dies takes its process along: one key then.
        for key in 0..<(deadly ? 1 : 20) {
            let begun = ContinuousClock.now
            let answers = try await withThrowingTaskGroup(of: UInt64.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        try await member.cache.value(forKey: key) {
                            var byte = UInt8(key)
                            write(log, &byte, 1)
                            var status = stat()
                            fstat(log, &status)
                            if deadly, status.st_size == 1 { kill(getpid(), SIGKILL) }
                            try await Task.sleep(for: .milliseconds(100))
                            return UInt64(key) + 7
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let duration = begun.duration(to: .now) / .milliseconds(1)
            if deadly { print("caller: answered after \(Int(duration)) ms, lease \(lease)") }
            guard answers == Array(repeating: UInt64(key) + 7, count: 100) else { throw POSIXError(.EILSEQ) }
        }
        await member.tier.shutDown()
    }

    // MARK: A server that is down

    /// Reads while the server is gone, or stands still: how long they take, and how often the server is asked.
    func checkOutage(_ port: Int, _ take: () throws -> Void) async throws {
        let origin = Duration.milliseconds(5)
        let member = try await makeMember(port, TieredCacheOptions(softTimeout: .milliseconds(100)))
        for key in 0..<keys { _ = try await member.cache.value(forKey: key) { 1 } }
        try take()
        let end = ContinuousClock.now + .seconds(seconds)
        let (wrong, longest) = (Tally(), Durations())
        let before = member.cache.statistics
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while ContinuousClock.now < end {
                        let key = Int.random(in: 0..<keys)
                        let begun = ContinuousClock.now
                        let value = try? await member.cache.value(forKey: key) {
                            try await Task.sleep(for: origin)
                            return 1
                        }
                        longest.add(begun.duration(to: .now))
                        if value != 1 { wrong.count() }
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                }
            }
        }
        let times = longest.sorted().map { $0 / .milliseconds(1) }
        let after = member.cache.statistics
        print(
            "outage of \(seconds) s: \(times.count) reads, \(wrong.value) without a value,"
                + String(format: " p99 %.1f, longest %.1f ms;", times[times.count * 99 / 100], times.last ?? 0)
                + " asked the server in vain \(after.remoteFailures - before.remoteFailures) times,"
                + " left it alone \(after.remoteSkips - before.remoteSkips) times"
        )
        await member.tier.shutDown()
    }
}

/// Counts in several tasks.
private final class Tally: Sendable {
    private let amount = Atomic(0)

    var value: Int { amount.load(ordering: .acquiring) }

    @discardableResult
    func count() -> Int { amount.add(1, ordering: .acquiringAndReleasing).newValue }
}

/// How long things took, in several tasks.
private final class Durations: Sendable {
    private let all = Mutex<[Duration]>([])

    func add(_ duration: Duration) { all.withLock { $0.append(duration) } }
    func sorted() -> [Duration] { all.withLock { $0.sorted() } }
}

extension TieredCache {
    /// The value after everything that the server has reported up to now: a change of another key goes there and back.
    fileprivate func tierValue(forKey key: Key) async throws -> Value? {
        if let other = Key("-1") { try await removeValue(forKey: other) }
        return try await value(forKey: key)
    }
}
#endif
