//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Dispatch
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TieredCaching
import Testing
import _CacheTestSupport

@testable import ValkeyCaching

@Suite("Finding a host's addresses", .timeLimit(.minutes(10)))
struct HostLookupTests {
    /// A resolver that answers when the test says so.
    final class HeldResolver: Sendable {
        let calls = Atomic(0)
        let goOn = DispatchSemaphore(value: 0)

        func lookup() -> HostLookup {
            HostLookup { [self] _, port in
                calls.add(1, ordering: .relaxed)
                goOn.wait()
                return [try! SocketAddress(ipAddress: "127.0.0.1", port: port)]
            }
        }
    }

    private func connect(_ transport: NIOTransport) async -> Result<any ValkeyConnection, ValkeyIssue> {
        await withCheckedContinuation { continuation in
            transport.connect(push: { _ in }, closed: { _ in }) { continuation.resume(returning: $0) }
        }
    }

    private func listen() async throws -> any Channel {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup).bind(host: "127.0.0.1", port: 0).get()
    }

    @Test("A name leads to one of its addresses that is listened at")
    func name() async throws {
        let server = try await listen()
        let transport = NIOTransport(ValkeyConfiguration(host: "localhost", port: server.localAddress!.port!))
        _ = try await connect(transport).get()
        await transport.shutDown()
        try await server.close()
    }

    @Test("A name without addresses cannot be reached")
    func noName() async throws {
        let transport = NIOTransport(ValkeyConfiguration(host: "a..b"))
        guard case .failure(let issue) = await connect(transport) else {
            Issue.record("It is connected.")
            return
        }
        #expect(issue == .unreachable("a..b has no addresses"))
        await transport.shutDown()
    }

    @Test("However many names are slow to find, others are found")
    func apart() async throws {
        let resolver = HeldResolver()
        // Kept: each looks up one at a time.
        let slow = (0..<20).map { _ in resolver.lookup() }
        for lookup in slow { lookup.find("slow", port: 1) { _ in } }
        let found: [SocketAddress] = await withCheckedContinuation { continuation in
            HostLookup().find("localhost", port: 1) { continuation.resume(returning: $0) }
        }
        #expect(!found.isEmpty)
        for _ in slow { resolver.goOn.signal() }
        await yieldUntil { slow.allSatisfy { $0.attemptCount == 0 } }
    }

    @Test("A certificate's address can be that of the host alone")
    func otherAddress() async throws {
        let configuration = ValkeyConfiguration(tls: .makeClientConfiguration(), serverName: "10.1.2.3")
        let transport = NIOTransport(configuration)
        guard case .failure(let issue) = await connect(transport) else {
            Issue.record("It is connected.")
            return
        }
        #expect(issue.description.contains("serverName"))
        await transport.shutDown()
    }

    @Test("A resolver that takes long is asked once at a time, and each attempt to connect waits for its own time")
    func slow() async throws {
        let resolver = HeldResolver()
        let server = try await listen()
        let port = server.localAddress!.port!
        var configuration = ValkeyConfiguration(host: "slow", port: port, connectTimeout: .milliseconds(1))
        let lookup = resolver.lookup()
        let impatient = NIOTransport(configuration, lookup: lookup)
        for _ in 0..<3 {
            guard case .failure(.unreachable(let reason)) = await connect(impatient) else {
                Issue.record("It is connected.")
                return
            }
            #expect(reason.contains("slow"))
        }
        #expect(resolver.calls.load(ordering: .relaxed) == 1)
        configuration.connectTimeout = .seconds(600)
        let patient = NIOTransport(configuration, lookup: lookup)
        let connecting = Task { await connect(patient) }
        await yieldUntil { lookup.attemptCount == 4 }
        resolver.goOn.signal()
        _ = try await connecting.value.get()
        #expect(resolver.calls.load(ordering: .relaxed) == 1)
        await patient.shutDown()
        await impatient.shutDown()
        try await server.close()
    }

    @Test("What is found after the end is asked of nobody")
    func afterTheEnd() async throws {
        let resolver = HeldResolver()
        let lookup = resolver.lookup()
        let transport = NIOTransport(ValkeyConfiguration(host: "slow", connectTimeout: .seconds(600)), lookup: lookup)
        transport.connect(push: { _ in }, closed: { _ in }) { _ in Issue.record("The loop has ended.") }
        await yieldUntil { lookup.attemptCount == 1 }
        await transport.shutDown()
        resolver.goOn.signal()
        await yieldUntil { lookup.attemptCount == 0 }
    }
}
#endif
