//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Dispatch
import MemoryCaching
import Synchronization
import Testing
import TieredCaching
import ValkeyCaching
import _CacheTestSupport

extension ServerTests {
    /// Settings that nobody means, and what follows from them.
    @Suite("Connections with settings at their ends", .serialized)
    struct SettingsTests {
        typealias Cache = ServerTests.Cache

        @Test("Sizes, pauses and limits at their ends connect", arguments: TestServer.Kind.installed)
        func ends(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            for heartbeat in [Duration.zero, .seconds(-1), .seconds(Int64.max)] {
                var options = TieredCacheOptions()
                options.softTimeout = .seconds(30)
                let tier = ValkeyTier(
                    ValkeyConfiguration(port: server.port, heartbeat: heartbeat, timeout: .seconds(20))
                )
                let cache = Cache(name: "cache", remote: tier, codec: .string, options: options)
                try await tier.waitUntilConnected(within: .seconds(Int64.max))
                await yieldUntil { cache.isCoherent }
                let value = try await cache.value(forKey: 1) { "one" }
                #expect(value == "one")
                await tier.shutDown()
            }
            for size in [Int.min, -1, 0, 1, 128] {
                _ = ValkeyTier(ValkeyConfiguration(port: server.port, largestReply: size))
            }
        }

        @Test("A user without a password is authenticated", arguments: TestServer.Kind.installed)
        func userWithoutPassword(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            server.command("ACL", "SETUSER", "app", "on", "nopass", "~*", "&*", "+@all")
            let tier = ValkeyTier(ValkeyConfiguration(port: server.port, username: "app"))
            try await tier.waitUntilConnected(within: .seconds(30))
            let socket = try RawConnection(port: server.port)
            socket.send("CLIENT LIST\r\n")
            _ = socket.receiveLine()
            // The oldest connection comes first.
            #expect(socket.receiveLine().contains("user=app "))
            await tier.shutDown()
            let stranger = ValkeyTier(ValkeyConfiguration(port: server.port, username: "stranger"))
            await #expect(throws: ValkeyIssue.self) { try await stranger.waitUntilConnected(within: .seconds(30)) }
            if case .notAuthenticated = stranger.issue {} else { Issue.record("\(String(describing: stranger.issue))") }
            await stranger.shutDown()
        }

        @Test("A number that is no port is said to be none", arguments: [-1, 0, 65_536, 70_000, Int.max])
        func noPort(_ port: Int) async throws {
            let tier = ValkeyTier(ValkeyConfiguration(port: port))
            tier.start()
            await yieldUntil { tier.issue != nil }
            #expect(tier.issue?.description.contains("\(port) is no port") ?? false)
            await tier.shutDown()
        }

        /// A server that refuses its first greetings, each with one of these reasons, and then greets.
        final class RefusingTransport: ValkeyTransport, ValkeyConnection {
            private let queue = DispatchQueue(label: "refusing")
            private let reasons: Mutex<[String]>

            init(_ reasons: [String]) { self.reasons = Mutex(reasons.reversed()) }

            func connect(
                push: @escaping @Sendable ([RESPValue]) -> Void,
                closed: @escaping @Sendable (String?) -> Void,
                completion: @escaping @Sendable (Result<any ValkeyConnection, ValkeyIssue>) -> Void
            ) { queue.async { completion(.success(self)) } }

            func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
                queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
            }

            func send(
                _ commands: [[[UInt8]]],
                within limit: Duration,
                completion: @escaping @Sendable (Result<[RESPValue], RemoteTierError>) -> Void
            ) {
                let reason = reasons.withLock { $0.popLast() }
                let reply = reason.map { RESPValue.error($0) } ?? .bytes(Array("OK".utf8))
                queue.async { completion(.success(commands.map { _ in reply })) }
            }

            func close() {}
            func shutDown() async {}
        }

        @Test("A server that refuses for the moment is waited for, and one that refuses for good is not")
        func refusals() async throws {
            let passing = ["LOADING reading data", "BUSY running a script", "ERR max number of clients reached"]
            let patient = ValkeyTier(ValkeyConfiguration(), transport: RefusingTransport(passing))
            try await patient.waitUntilConnected(within: .seconds(3600))
            let refused = ValkeyTier(ValkeyConfiguration(), transport: RefusingTransport(["NOPERM", "NOPERM"]))
            await #expect(throws: ValkeyIssue.refused("NOPERM")) {
                try await refused.waitUntilConnected(within: .seconds(3600))
            }
            await patient.shutDown()
            await refused.shutDown()
        }

        @Test("A cache over a tier that was shut down asks the origin at once")
        func shutDown() async throws {
            let tier = ValkeyTier(ValkeyConfiguration(port: 1))
            await tier.shutDown()
            var options = TieredCacheOptions()
            options.softTimeout = .seconds(3600)
            options.changeTimeout = .seconds(3600)
            let cache = Cache(name: "cache", remote: tier, codec: .string, options: options)
            try await failingWhenStuck("operations over a tier that was shut down") {
                let value = try await cache.value(forKey: 1) { "origin" }
                #expect(value == "origin")
                await #expect(throws: RemoteTierError.disconnected) { try await cache.setValue("one", forKey: 1) }
                await #expect(throws: ValkeyIssue.self) { try await tier.waitUntilConnected(within: .seconds(3600)) }
            }
        }
    }
}
#endif
