//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Foundation
import MemoryCaching
import Synchronization
import Testing
import TieredCaching
import ValkeyCaching
import _CacheTestSupport

@Suite("Near caches in front of a real server", .serialized)
struct ServerTests {
    typealias Cache = TieredCache<Int, String>

    /// What another process would have: a tier of its own, and a cache over it.
    struct Member {
        let tier: ValkeyTier
        let cache: Cache

        init(
            _ server: TestServer,
            password: String? = nil,
            timeout: Duration = .seconds(20),
            largestReply: Int = 64 << 20,
            _ change: (inout TieredCacheOptions) -> Void = { _ in }
        ) async throws {
            var options = TieredCacheOptions()
            // Wide: a busy machine does not take part in the tests.
            options.softTimeout = .seconds(30)
            options.changeTimeout = .seconds(30)
            change(&options)
            let configuration = ValkeyConfiguration(
                port: server.port,
                password: password,
                timeout: timeout,
                largestReply: largestReply
            )
            tier = ValkeyTier(configuration)
            cache = Cache(name: "cache", remote: tier, codec: .string, options: options)
            try await tier.waitUntilConnected(within: .seconds(30))
            await yieldUntil { [cache] in cache.isCoherent }
        }
    }

    /// The key in the server, as another program has to find it.
    static func remoteKey(_ key: Int, _ server: TestServer) throws -> String {
        let socket = try RawConnection(port: server.port)
        socket.send("GET cache:v1\r\n")
        _ = socket.receiveLine()
        return "cache:v1:\(socket.receiveLine()):\(key)"
    }

    @Test("Three tiers, and changes seen by all", arguments: TestServer.Kind.installed)
    func basics(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let (here, there) = (try await Member(server), try await Member(server))
        #expect(try await here.cache.value(forKey: 1) { "one" } == "one")
        #expect(here.cache.nearValue(forKey: 1) == "one")
        #expect(try await there.cache.value(forKey: 1) { "not asked" } == "one")
        #expect(there.cache.nearValue(forKey: 1) == "one")
        try await there.cache.setValue("two", forKey: 1)
        await yieldUntil { here.cache.nearValue(forKey: 1) == nil }
        #expect(try await here.cache.value(forKey: 1) == "two")
        try await here.cache.removeValue(forKey: 1)
        await yieldUntil { there.cache.nearValue(forKey: 1) == nil }
        #expect(try await there.cache.value(forKey: 1) == nil)
        await here.tier.shutDown()
        await there.tier.shutDown()
    }

    @Test("Changes by other programs, expiry and flushes are followed", arguments: TestServer.Kind.installed)
    func otherPrograms(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let here = try await Member(server)
        let cache = here.cache
        _ = try await cache.value(forKey: 1) { "one" }
        server.command("SET", try Self.remoteKey(1, server), "from elsewhere")
        await yieldUntil { cache.nearValue(forKey: 1) == nil }
        #expect(try await cache.value(forKey: 1) == "from elsewhere")
        #expect(cache.nearValue(forKey: 1) == "from elsewhere")
        server.command("DEL", try Self.remoteKey(1, server))
        await yieldUntil { cache.nearValue(forKey: 1) == nil }
        _ = try await cache.value(forKey: 1) { "again" }
        server.command("PEXPIRE", try Self.remoteKey(1, server), "1")
        await yieldUntil { cache.nearValue(forKey: 1) == nil }
        _ = try await cache.value(forKey: 1) { "and again" }
        server.command("FLUSHALL")
        await yieldUntil { cache.statistics.generations > 1 }
        #expect(cache.nearValue(forKey: 1) == nil)
        #expect(try await cache.value(forKey: 1) { "after the flush" } == "after the flush")
        await here.tier.shutDown()
    }

    @Test("Another type, undecodable bytes and a value of no lifetime", arguments: TestServer.Kind.installed)
    func strangeValues(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let here = try await Member(server)
        let cache = here.cache
        server.command("LPUSH", try Self.remoteKey(1, server), "element")
        #expect(try await cache.value(forKey: 1) == nil)
        #expect(try await cache.value(forKey: 1) { "loaded" } == "loaded")
        #expect(cache.nearValue(forKey: 1) == "loaded")
        let numbers = TieredCache<Int, Int64>(name: "cache", remote: here.tier, codec: TrivialCodec<Int64>())
        await yieldUntil { numbers.isCoherent }
        #expect(try await numbers.value(forKey: 1) { 12 } == 12)
        #expect(numbers.nearValue(forKey: 1) == 12)
        #expect(numbers.statistics.undecodable > 0)
        server.command("SET", try Self.remoteKey(2, server), "for ever")
        #expect(try await cache.value(forKey: 2) { "not asked" } == "for ever")
        server.command("SET", try Self.remoteKey(3, server), "")
        #expect(try await cache.value(forKey: 3) == "")
        await here.tier.shutDown()
    }

    @Test("Values that begin as a lease does, and values that read as one", arguments: TestServer.Kind.installed)
    func likeMarkers(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let (here, there) = (try await Member(server), try await Member(server))
        let magic = "\u{0}lease\u{0}\u{1}"
        let foreign = [magic, magic + "garbage", magic + String(repeating: "g", count: 100)]
        let numbers = TieredCache<Int, Int64>(name: "cache", remote: here.tier, codec: TrivialCodec<Int64>())
        await yieldUntil { numbers.isCoherent }
        for (key, bytes) in foreign.enumerated() {
            server.command("SET", try Self.remoteKey(key, server), bytes)
            #expect(try await here.cache.value(forKey: key) { "not asked" } == bytes)
            #expect(try await numbers.value(forKey: 10 + key) { 12 } == 12)
            server.command("SET", try Self.remoteKey(10 + key, server), bytes + "x")
            await yieldUntil { numbers.nearValue(forKey: 10 + key) == nil }
            #expect(try await numbers.value(forKey: 10 + key) { 13 } == 13)
            #expect(numbers.nearValue(forKey: 10 + key) == 13)
            try await here.cache.setValue(bytes, forKey: 20 + key)
            #expect(try await there.cache.value(forKey: 20 + key) == bytes)
        }
        #expect(numbers.statistics.undecodable > 0)
        #expect(numbers.statistics.remoteFailures + here.cache.statistics.remoteFailures == 0)

        let marker = magic + String(repeating: "0", count: 64)
        for _ in 0..<10 {
            await #expect(throws: RemoteTierError.self) { try await here.cache.setValue(marker, forKey: 30) }
        }
        // Longer than a test may take: the lease has to be given back.
        let loader = try await Member(server) { $0.leaseTime = .seconds(3600) }
        #expect(try await loader.cache.value(forKey: 31) { marker } == marker)
        let next = try await failingWhenStuck("the lookup after a value that reads as a lease") {
            try await there.cache.value(forKey: 31) { "other" }
        }
        #expect(next == "other")
        await loader.tier.shutDown()
        #expect(here.cache.statistics.remoteSkips == 0)
        await here.tier.shutDown()
        await there.tier.shutDown()
    }

    @Test("Leases: one load, a lease given back, a fill after a change refused", arguments: TestServer.Kind.installed)
    func leases(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let (here, there) = (try await Member(server), try await Member(server))
        struct Broken: Error {}
        await #expect(throws: Broken.self) { try await here.cache.value(forKey: 1) { throw Broken() } }
        #expect(try await there.cache.value(forKey: 1) { "fine" } == "fine")
        let (loads, gate) = (Counter(), Gate())
        try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<200 {
                group.addTask {
                    try await (index % 2 == 0 ? here : there).cache.value(forKey: 2) {
                        loads.increment()
                        await gate.pass()
                        return "two"
                    }
                }
            }
            await yieldUntil { here.cache.statistics.leaseWaits + there.cache.statistics.leaseWaits > 0 }
            gate.open()
            for try await value in group { #expect(value == "two") }
        }
        #expect(loads.value == 1)
        let value = try await here.cache.value(forKey: 3) {
            try await there.cache.removeValue(forKey: 3)
            return "old"
        }
        #expect(value == "old")
        #expect(try await there.cache.value(forKey: 3) == nil)
        #expect(here.cache.nearValue(forKey: 3) == nil)
        await here.tier.shutDown()
        await there.tier.shutDown()
    }

    @Test("A lease whose holder is gone ends with time, and then one other loads", arguments: TestServer.Kind.installed)
    func deadLeader(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let (dead, here) = (try await Member(server) { $0.leaseTime = .milliseconds(300) }, try await Member(server))
        let stopped = Gate()
        let load = Task {
            try await dead.cache.value(forKey: 1) {
                await stopped.pass()
                return "late"
            }
        }
        await yieldUntil { dead.cache.statistics.loads == 1 }
        #expect(try await here.cache.value(forKey: 1) { "second" } == "second")
        stopped.open()
        #expect(try await load.value == "late")
        #expect(try await dead.cache.value(forKey: 1) == "second")
        await dead.tier.shutDown()
        await here.tier.shutDown()
    }

    @Test("A fallback is kept in the server beside the lease", arguments: TestServer.Kind.installed)
    func fallback(_ kind: TestServer.Kind) async throws {
        struct Broken: Error {}
        let server = try await TestServer(kind)
        let here = try await Member(server) {
            $0.lifetime = .milliseconds(200)
            $0.keepsExpiredFor = .seconds(600)
        }
        _ = try await here.cache.value(forKey: 1) { "old" }
        // A near value counts from before it was sent, so the server's is fresh for some milliseconds more.
        let stored = try Self.remoteKey(1, server)
        await yieldUntil {
            here.cache.nearValue(forKey: 1) == nil
                && Int(server.command("PTTL", stored).dropFirst()).map { $0 <= 600_000 } ?? false
        }
        #expect(try await here.cache.value(forKey: 1) { throw Broken() } == "old")
        #expect(try await here.cache.value(forKey: 1) { throw Broken() } == "old")
        #expect(try await here.cache.value(forKey: 1) { "new" } == "new")
        server.command("DEL", stored)
        await yieldUntil { here.cache.nearValue(forKey: 1) == nil }
        await #expect(throws: Broken.self) { try await here.cache.value(forKey: 1) { throw Broken() } }
        await here.tier.shutDown()
    }

    @Test("Values that are kept for ever are found by other processes", arguments: TestServer.Kind.installed)
    func keptForEver(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        for (key, lifetime) in [Duration.seconds(300), .seconds(Int64.max)].enumerated() {
            func member() async throws -> Member {
                try await Member(server) {
                    $0.lifetime = lifetime
                    $0.keepsExpiredFor = .seconds(Int64.max)
                }
            }
            let (here, there) = (try await member(), try await member())
            #expect(try await here.cache.value(forKey: key) { "one" } == "one")
            #expect(try await there.cache.value(forKey: key) { "not asked" } == "one")
            #expect(there.cache.nearValue(forKey: key) == "one")
            await here.tier.shutDown()
            await there.tier.shutDown()
        }
    }

    @Test(
        "Killed and restarted empty, cut off, and stopped: nothing old is served",
        arguments: TestServer.Kind.installed
    )
    func crashes(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let here = try await Member(server)
        let cache = here.cache
        _ = try await cache.value(forKey: 1) { "old" }
        server.kill()
        await yieldUntil { !cache.isCoherent }
        #expect(cache.nearValue(forKey: 1) == nil)
        #expect(try await cache.value(forKey: 1) { "origin" } == "origin")
        await #expect(throws: RemoteTierError.self) { try await cache.setValue("x", forKey: 1) }
        try await server.start()
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "new" } == "new")
        let generations = cache.statistics.generations
        server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        await yieldUntil { cache.statistics.generations > generations && cache.isCoherent }
        #expect(cache.nearValue(forKey: 1) == nil)
        #expect(try await cache.value(forKey: 1) { "not asked" } == "new")
        await here.tier.shutDown()
    }

    @Test(
        "A server that stops in the middle of requests is left, and found again",
        arguments: TestServer.Kind.installed
    )
    func silence(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let here = try await Member(server, timeout: .milliseconds(300))
        let cache = here.cache
        _ = try await cache.value(forKey: 0) { "old" }
        server.pause(true)
        await withTaskGroup(of: Void.self) { group in
            for key in 1..<50 {
                group.addTask { #expect((try? await cache.value(forKey: key) { "origin" }) == "origin") }
            }
        }
        await yieldUntil { !cache.isCoherent }
        #expect(cache.nearValue(forKey: 0) == nil)
        server.pause(false)
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 0) { "not asked" } == "old")
        await here.tier.shutDown()
    }

    @Test(
        "A tracking table of three keys makes entries leave early, and none stale",
        arguments: TestServer.Kind.installed
    )
    func smallTable(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind, "--tracking-table-max-keys", "3")
        let (here, there) = (try await Member(server), try await Member(server))
        let stale = Counter()
        for round in 0..<5 {
            for key in 0..<20 { try await there.cache.setValue("\(round)", forKey: key) }
            for key in 0..<20 {
                let value = try await here.cache.value(forKey: key) { "origin" }
                // Serving may be interrupted while the epoch is read again: then the origin answers.
                if value != "origin", value != "\(round)" { stale.increment() }
            }
        }
        #expect(stale.value == 0)
        await here.tier.shutDown()
        await there.tier.shutDown()
    }

    @Test("Without memory, reads go on and what is loaded is returned", arguments: TestServer.Kind.installed)
    func full(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind, "--maxmemory-policy", "noeviction")
        let here = try await Member(server)
        try await here.cache.setValue("one", forKey: 1)
        server.command("CONFIG", "SET", "maxmemory", "1")
        #expect(try await here.cache.value(forKey: 1) { "not asked" } == "one")
        #expect(try await here.cache.value(forKey: 2) { "two" } == "two")
        #expect(here.cache.nearValue(forKey: 2) == nil)
        await #expect(throws: RemoteTierError.full) { try await here.cache.setValue("x", forKey: 3) }
        #expect(here.cache.statistics.unstorable > 0)
        await here.tier.shutDown()
    }

    @Test("Passwords, clusters and replicas: a clear line, and no crash", arguments: TestServer.Kind.installed)
    func refusals(_ kind: TestServer.Kind) async throws {
        let guarded = try await TestServer(kind, "--requirepass", "secret")
        let member = try await Member(guarded, password: "secret")
        #expect(try await member.cache.value(forKey: 1) { "one" } == "one")
        await member.tier.shutDown()
        for password in [nil, "wrong"] {
            let tier = ValkeyTier(ValkeyConfiguration(port: guarded.port, password: password))
            let error = await #expect(throws: ValkeyIssue.self) {
                try await tier.waitUntilConnected(within: .seconds(30))
            }
            if case .notAuthenticated = error {} else { Issue.record("\(String(describing: error))") }
            let cache = Cache(name: "cache", remote: tier, codec: .string)
            #expect(try await cache.value(forKey: 1) { "origin" } == "origin")
            await tier.shutDown()
        }
        let directory = FileManager.default.temporaryDirectory.appending(path: "cluster-\(guarded.port)").path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cluster = try await TestServer(kind, "--cluster-enabled", "yes", "--dir", directory)
        let tier = ValkeyTier(ValkeyConfiguration(port: cluster.port))
        await #expect(throws: ValkeyIssue.isCluster) { try await tier.waitUntilConnected(within: .seconds(30)) }
        await tier.shutDown()
        let replica = try await TestServer(kind, "--replicaof", "127.0.0.1 \(guarded.port)")
        let other = ValkeyTier(ValkeyConfiguration(port: replica.port))
        await #expect(throws: ValkeyIssue.isReplica) { try await other.waitUntilConnected(within: .seconds(30)) }
        await other.shutDown()
    }

    @Test("A server that becomes a replica is left", arguments: TestServer.Kind.installed)
    func demotion(_ kind: TestServer.Kind) async throws {
        let (primary, server) = (try await TestServer(kind), try await TestServer(kind))
        let member = try await Member(server)
        server.command("REPLICAOF", "127.0.0.1", "\(primary.port)")
        await yieldUntil { member.tier.issue == .isReplica && !member.cache.isCoherent }
        await member.tier.shutDown()
    }

    @Test("A process reads its own changes, with readers beside", arguments: TestServer.Kind.installed)
    func ownChanges(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let here = try await Member(server)
        let cache = here.cache
        let violations = Counter()
        await withTaskGroup(of: Void.self) { group in
            for key in 0..<4 {
                group.addTask {
                    for round in 0..<300 {
                        do {
                            try await cache.setValue("\(round)", forKey: key)
                            let value = try await cache.value(forKey: key)
                            if value != "\(round)" { violations.increment() }
                        } catch { violations.increment() }
                    }
                }
                group.addTask {
                    for _ in 0..<300 { _ = try? await cache.value(forKey: key) { "from the origin" } }
                }
            }
        }
        #expect(violations.value == 0)
        await here.tier.shutDown()
    }

    @Test("Values larger than any socket takes at once, with small ones between", arguments: TestServer.Kind.installed)
    func largeAndSmall(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let (here, there) = (try await Member(server) { $0.largestValue = 32 << 20 }, try await Member(server))
        let expected = (0..<200).map { String(repeating: "\($0)", count: $0 % 50 == 0 ? 3 << 20 : 1) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (key, value) in expected.enumerated() {
                group.addTask { try await here.cache.setValue(value, forKey: key) }
            }
            try await group.waitForAll()
        }
        await withTaskGroup(of: Void.self) { group in
            for (key, value) in expected.enumerated() {
                group.addTask { #expect((try? await there.cache.value(forKey: key)) == value, "\(key)") }
            }
        }
        // Neither has lost its connection.
        #expect(here.cache.statistics.generations == 1 && there.cache.statistics.generations == 1)
        await here.tier.shutDown()
        await there.tier.shutDown()
    }

    @Test("Scripts that the server has forgotten are sent again", arguments: TestServer.Kind.installed)
    func forgottenScripts(_ kind: TestServer.Kind) async throws {
        let server = try await TestServer(kind)
        let here = try await Member(server)
        server.command("SCRIPT", "FLUSH")
        #expect(try await here.cache.value(forKey: 1) { "one" } == "one")
        #expect(here.cache.nearValue(forKey: 1) == "one")
        await here.tier.shutDown()
    }
}
#endif
