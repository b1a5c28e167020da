//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Foundation
import MemoryCaching
import Testing
import TieredCaching
import ValkeyCaching
import _CacheTestSupport

extension ServerTests {
    /// What holds a connection to its promise where others misuse the server, or the tier.
    @Suite("Near caches and what others do to them", .serialized)
    struct ForeignTests {
        typealias Cache = ServerTests.Cache
        typealias Member = ServerTests.Member

        /// Threads of connections, and sockets, that this process has.
        static var held: (threads: Int, sockets: Int) {
            let files = FileManager.default
            let descriptors = (try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let sockets = descriptors.count { descriptor in
                let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
                return target?.hasPrefix("socket:") ?? false
            }
            let tasks = (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            let threads = tasks.count { task in
                let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                return name?.hasPrefix("NIO-ELT") ?? false
            }
            return (threads, sockets)
        }

        @Test("Tiers that are dropped without a word close their connections", arguments: TestServer.Kind.installed)
        func dropped(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            let before = Self.held
            for round in 0..<10 {
                let member = try await Member(server)
                _ = try await member.cache.value(forKey: round) { "one" }
                // One that has never connected has a thread too.
                _ = ValkeyTier(ValkeyConfiguration(port: server.port))
            }
            try await failingWhenStuck("the end of connections whose tiers are gone") {
                while Self.held.threads > before.threads || Self.held.sockets > before.sockets {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
        }

        @Test(
            "A value that is too large is no value, and costs nobody the connection",
            arguments: TestServer.Kind.installed
        )
        func oversize(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            let here = try await Member(server, largestReply: 64 << 10)
            let cache = here.cache
            _ = try await cache.value(forKey: 0) { "zero" }
            for (key, size) in [65_408, 65_409, 65_536, 300_000].enumerated() {
                let isAccepted = size <= 65_408
                let value = String(repeating: "x", count: size)
                server.command("SET", try ServerTests.remoteKey(1 + key, server), value)
                #expect(try await cache.value(forKey: 1 + key) == (isAccepted ? value : nil), "\(size)")
                #expect(
                    try await cache.value(forKey: 1 + key) { "loaded" } == (isAccepted ? value : "loaded"),
                    "\(size)"
                )
                #expect(cache.nearValue(forKey: 1 + key) == (isAccepted ? value : "loaded"), "\(size)")
            }
            await #expect(throws: RemoteTierError.tooLarge(65_409)) {
                try await cache.setValue(String(repeating: "x", count: 65_409), forKey: 9)
            }
            let refused = try await cache.value(forKey: 9) { String(repeating: "y", count: 65_409) }
            #expect(refused.utf8.count == 65_409)
            // The connection is the first one still.
            #expect(cache.statistics.generations == 1)
            #expect(cache.nearValue(forKey: 0) == "zero")
            await here.tier.shutDown()
        }

        @Test("A key that is too large costs nobody the connection", arguments: TestServer.Kind.installed)
        func oversizeKey(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            let here = try await Member(server, largestReply: 64 << 10)
            let texts = TieredCache<String, String>(
                name: "texts",
                remote: here.tier,
                codec: .string,
                options: TieredCacheOptions(softTimeout: .seconds(30), changeTimeout: .seconds(30))
            )
            await yieldUntil { texts.isCoherent }
            // The name of the keyspace stands before it.
            for size in [65_000, 65_408, 65_536, 300_000] {
                let isAccepted = size == 65_000
                let key = String(repeating: "k", count: size)
                #expect(try await texts.value(forKey: key) == nil)
                for round in 0..<2 {
                    let value = try await texts.value(forKey: key) { "loaded \(round)" }
                    #expect(value == (isAccepted ? "loaded 0" : "loaded \(round)"), "\(size)")
                }
                #expect(texts.nearValue(forKey: key) == (isAccepted ? "loaded 0" : nil), "\(size)")
                if isAccepted {
                    try await texts.setValue("set", forKey: key)
                } else {
                    await #expect(throws: RemoteTierError.self) { try await texts.setValue("set", forKey: key) }
                }
                try await texts.removeValue(forKey: key)
                #expect(try await texts.value(forKey: "a short one") { "short" } == "short")
            }
            #expect(texts.statistics.generations == 1)
            await here.tier.shutDown()
        }

        @Test("The marker of a lease that nobody holds is no lease", arguments: TestServer.Kind.installed)
        func forgedMarkers(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            let here = try await Member(server)
            let token = "\u{0}lease\u{0}\u{1}" + String(repeating: "a", count: 32)
            let ends = ["9999999999999999", "4102444800000000"]
            for (key, end) in ends.enumerated() {
                server.command(
                    "SET",
                    try ServerTests.remoteKey(key, server),
                    token + end + String(repeating: "0", count: 16)
                )
                #expect(try await here.cache.value(forKey: key) == nil)
                let value = try await failingWhenStuck("a lookup behind a forged lease") {
                    try await here.cache.value(forKey: key) { "loaded" }
                }
                #expect(value == "loaded")
                #expect(here.cache.nearValue(forKey: key) == "loaded")
            }
            await here.tier.shutDown()
        }

        @Test("A server without memory for the epoch is not waited for", arguments: TestServer.Kind.installed)
        func fullAtFirst(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind, "--maxmemory-policy", "noeviction", "--maxmemory", "1")
            let tier = ValkeyTier(ValkeyConfiguration(port: server.port, timeout: .seconds(20)))
            // Longer than a test may take.
            let options = TieredCacheOptions(softTimeout: .seconds(3600))
            let cache = Cache(name: "cache", remote: tier, codec: .string, options: options)
            try await tier.waitUntilConnected(within: .seconds(30))
            let value = try await failingWhenStuck("a lookup without an epoch") {
                try await cache.value(forKey: 1) { "origin" }
            }
            #expect(value == "origin")
            #expect(!cache.isCoherent)
            server.command("CONFIG", "SET", "maxmemory", "0")
            await yieldUntil { cache.isCoherent }
            #expect(try await cache.value(forKey: 1) { "stored" } == "stored")
            #expect(cache.nearValue(forKey: 1) == "stored")
            await tier.shutDown()
        }
    }
}
#endif
