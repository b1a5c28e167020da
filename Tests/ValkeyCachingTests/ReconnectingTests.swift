//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#if ValkeySupport
import Synchronization
import Testing
import TieredCaching

@testable import ValkeyCaching

/// What a tier does when, over a transport whose work a test does piece by piece.
@Suite("Connecting anew, and the end")
struct ReconnectingTests {
    /// Connects at once to a server that greets well and answers heartbeats; the connection is lost when the test says
    /// so. Scheduled work waits for the test.
    final class SteppedTransport: ValkeyTransport, ValkeyConnection {
        struct State: Sendable {
            var scheduled: [(delay: Duration, body: @Sendable () -> Void)] = []
            var closed: (@Sendable (String?) -> Void)?
            var isDown = false
            var beforeTheEnd: (@Sendable () -> Void)?
        }
        let state = Mutex(State())

        func connect(
            push: @escaping @Sendable ([RESPValue]) -> Void,
            closed: @escaping @Sendable (_ reason: String?) -> Void,
            completion: @escaping @Sendable (Result<any ValkeyConnection, ValkeyIssue>) -> Void
        ) {
            state.withLock { $0.closed = closed }
            completion(.success(self))
        }

        func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
            state.withLock { if !$0.isDown { $0.scheduled.append((delay, body)) } }
        }

        func shutDown() async {
            state.withLock { $0.beforeTheEnd.take() }?()
            state.withLock { ($0.scheduled, $0.isDown) = ([], true) }
        }

        func send(
            _ commands: [[[UInt8]]],
            within limit: Duration,
            completion: @escaping @Sendable (Result<[RESPValue], RemoteTierError>) -> Void
        ) {
            completion(.success(commands.map { _ in .bytes("OK".bytes) }))
        }

        func close() {}

        func lose() { state.withLock { $0.closed }?("lost") }

        /// Does what has been scheduled so far, of the given delay if there is one; returns the delays.
        @discardableResult
        func step(_ isMeant: (Duration) -> Bool = { _ in true }) -> [Duration] {
            let due = state.withLock { state in
                defer { state.scheduled.removeAll { isMeant($0.delay) } }
                return state.scheduled.filter { isMeant($0.delay) }
            }
            for item in due { item.body() }
            return due.map(\.delay)
        }
    }

    final class Subscriber: RemoteTierSubscriber {
        let events = Mutex<[RemoteTierEvent]>([])
        func receive(_ event: RemoteTierEvent) { events.withLock { $0.append(event) } }
        var losses: Int {
            events.withLock { $0.reduce(0) { if case .lost = $1 { $0 + 1 } else { $0 } } }
        }
        var isToldConnected: Bool {
            events.withLock { $0.contains { if case .connected = $0 { true } else { false } } }
        }
    }

    let transport = SteppedTransport()
    let tier: ValkeyTier

    init() {
        // A delay that nothing else has.
        let configuration = ValkeyConfiguration(heartbeat: .seconds(7), longestPause: .milliseconds(640))
        tier = ValkeyTier(configuration, transport: transport)
    }

    @Test("A server that greets and then breaks off is asked ever more seldom, until a connection lives")
    func pauses() async throws {
        tier.start()
        transport.step()
        for doubling in 0..<10 {
            transport.state.withLock { $0.scheduled = [] }
            #expect(tier.issue == nil, "It is connected.")
            transport.lose()
            let pauses = transport.step()
            let longest = min(Duration.milliseconds(640), .milliseconds(10) * (1 << doubling))
            #expect(pauses.count == 1 && pauses.allSatisfy { $0 >= longest / 2 && $0 <= longest }, "\(pauses)")
        }
        // A heartbeat that is answered ends that.
        #expect(transport.step { $0 == .seconds(7) } == [.seconds(7)])
        transport.state.withLock { $0.scheduled = [] }
        transport.lose()
        #expect(transport.step().allSatisfy { $0 <= .milliseconds(10) })
        await tier.shutDown()
    }

    @Test("Whoever has just come when the tier is shut down is told so, by whichever thread")
    func comingAtTheEnd() async throws {
        tier.start()
        transport.step()
        let (known, late, after) = (Subscriber(), Subscriber(), Subscriber())
        tier.subscribe(known)
        transport.step { $0 == .zero }
        #expect(known.isToldConnected && known.losses == 0)
        tier.subscribe(late)
        // Its welcome is dropped with all that the transport was to do.
        await tier.shutDown()
        tier.subscribe(after)
        #expect(!late.isToldConnected && late.losses == 1)
        #expect(known.losses == 1 && after.losses == 1)
        await tier.shutDown()
    }

    /// Notes whether it is told of two things at once.
    final class Overlapping: RemoteTierSubscriber {
        private let isReceiving = Atomic(false)
        private let overlaps = Atomic(0)
        var overlapCount: Int { overlaps.load(ordering: .acquiring) }
        func receive(_ event: RemoteTierEvent) {
            if isReceiving.exchange(true, ordering: .acquiringAndReleasing) { overlaps.add(1, ordering: .relaxed) }
            for _ in 0..<1_000 { _ = isReceiving.load(ordering: .acquiring) }
            isReceiving.store(false, ordering: .releasing)
        }
    }

    @Test("However many shut the tier down at once, it tells one thing after the other")
    func shutDownAtOnce() async throws {
        for _ in 0..<300 {
            let tier = ValkeyTier(ValkeyConfiguration(), transport: SteppedTransport())
            let subscriber = Overlapping()
            tier.subscribe(subscriber)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { await tier.shutDown() } }
            }
            #expect(subscriber.overlapCount == 0)
        }
    }

    /// Asks the tier when it goes: what a value of the user's may do that goes with its cache.
    final class Asking: RemoteTierSubscriber {
        let tier: ValkeyTier
        init(_ tier: ValkeyTier) { self.tier = tier }
        deinit { _ = tier.issue }
        func receive(_ event: RemoteTierEvent) {}
    }

    @Test("Whoever goes while others come, goes outside every lock")
    func goingWhileOthersCome() async throws {
        let coming = Task.detached { [tier] in
            // Some are there at any time, so that one often goes just when it is looked at.
            var there = (0..<64).map { _ in Asking(tier) }
            for number in 0..<200_000 {
                there[number % there.count] = Asking(tier)
                tier.subscribe(there[number % there.count])
            }
        }
        let welcoming = Task.detached { [transport] in
            while !Task.isCancelled { transport.step { $0 == .zero } }
        }
        await coming.value
        welcoming.cancel()
        await welcoming.value
        transport.step { $0 == .zero }
        await tier.shutDown()
    }

    @Test("The loss is told where everything is told, behind what comes before it there")
    func lossOnTheContext() async throws {
        tier.start()
        transport.step()
        let (known, late) = (Subscriber(), Subscriber())
        tier.subscribe(known)
        transport.step { $0 == .zero }
        tier.subscribe(late)
        let losses = Mutex<[Int]>([])
        transport.state.withLock { state in
            state.beforeTheEnd = { [transport] in
                losses.withLock { $0.append(known.losses) }
                transport.step { $0 == .zero }
                losses.withLock { $0 += [known.losses, late.losses] }
            }
        }
        await tier.shutDown()
        #expect(losses.withLock { $0 } == [0, 1, 1])
        #expect(!late.isToldConnected)
    }
}
#endif
