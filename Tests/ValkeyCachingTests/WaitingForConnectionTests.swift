//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#if ValkeySupport
import Dispatch
import Synchronization
import Testing
import TieredCaching
import _CacheTestSupport

@testable import ValkeyCaching

@Suite("Waiting for a connection", .timeLimit(.minutes(10)))
struct WaitingForConnectionTests {
    /// Attempts to connect end as the test says, and when it says so.
    final class HeldTransport: ValkeyTransport {
        typealias Completion = @Sendable (Result<any ValkeyConnection, ValkeyIssue>) -> Void
        private let queue = DispatchQueue(label: "transport")
        private let attempts = Mutex<[Completion]>([])

        func connect(
            push: @escaping @Sendable ([RESPValue]) -> Void,
            closed: @escaping @Sendable (_ reason: String?) -> Void,
            completion: @escaping Completion
        ) {
            attempts.withLock { $0.append(completion) }
        }

        func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) { queue.async { body() } }

        func shutDown() async {}

        /// Ends the next attempt.
        func fail(with issue: ValkeyIssue) async {
            await yieldUntil { attempts.withLock { !$0.isEmpty } }
            let attempt = attempts.withLock { $0.removeFirst() }
            queue.async { attempt(.failure(issue)) }
        }
    }

    let transport = HeldTransport()
    let tier: ValkeyTier

    init() { tier = ValkeyTier(ValkeyConfiguration(), transport: transport) }

    @Test("A refusal ends the wait when it comes, not when the time is over")
    func refusal() async throws {
        let waiting = Task { try await tier.waitUntilConnected(within: .seconds(86_400)) }
        await yieldUntil { tier.linkChange.waiterCount == 1 }
        // A server that cannot be reached may be there in a moment.
        await transport.fail(with: .unreachable("first"))
        await transport.fail(with: .isCluster)
        await #expect(throws: ValkeyIssue.isCluster) { try await waiting.value }
        await tier.shutDown()
    }

    @Test("At the end of the time it throws what stands in the way")
    func timeout() async throws {
        await #expect(throws: ValkeyIssue.unreachable("no answer")) {
            try await tier.waitUntilConnected(within: .zero)
        }
        await transport.fail(with: .unreachable("somewhere else"))
        await yieldUntil { tier.issue != nil }
        await #expect(throws: ValkeyIssue.unreachable("somewhere else")) {
            try await tier.waitUntilConnected(within: .zero)
        }
        await tier.shutDown()
    }

    @Test("A cancelled wait ends at once")
    func cancellation() async throws {
        let waiting = Task { try await tier.waitUntilConnected(within: .seconds(86_400)) }
        await yieldUntil { tier.linkChange.waiterCount == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await tier.shutDown()
    }
}
#endif
