//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Synchronization
import TieredCaching

// Making a connection and keeping it alive. All of this runs on the transport's serial context.
extension ValkeyTier {
    /// Pauses between attempts: 10 ms at first, then twice as long each, at random by up to a half shorter.
    ///
    /// A connection that is lost before its first heartbeat counts as an attempt: a server that greets and then sends
    /// what cannot be read was asked anew 110 times a second.
    private func pause(afterFailures failures: Int, _ issue: ValkeyIssue) -> Duration {
        // A server that refuses does so for minutes; one that cannot be reached may be back at any moment.
        let longest: Duration
        if case .unreachable = issue {
            longest = max(.milliseconds(1), configuration.longestPause)
        } else {
            longest = .seconds(5)
        }
        let pause = min(longest, .milliseconds(10) * (1 << min(failures, 10)))
        return pause * Double.random(in: 0.5...1)
    }

    func connect() {
        let number = state.withLock { state -> Int? in
            guard case .waiting = state.phase else { return nil }
            state.phase = .connecting
            state.number += 1
            return state.number
        }
        guard let number else { return }
        transport.connect(
            push: { [weak self] in self?.receivePush($0) },
            closed: { [weak self] reason in self?.didClose(number, .unreachable(reason ?? "the connection was closed"))
            },
            completion: { [weak self] result in
                switch (result, self) {
                case (.success(let connection), let self?): self.greet(connection, number)
                case (.success(let connection), nil): connection.close()
                case (.failure(let issue), _): self?.didClose(number, issue)
                }
            }
        )
    }

    // MARK: Greeting

    private func greet(_ connection: any ValkeyConnection, _ number: Int) {
        let isWanted = state.withLock { state in
            guard case .connecting = state.phase, state.number == number else { return false }
            state.phase = .greeting(connection)
            return true
        }
        guard isWanted else { return connection.close() }
        var hello = ["HELLO", "3"]
        if configuration.username != nil || configuration.password != nil {
            // A user without a password is authenticated by any.
            hello += ["AUTH", configuration.username ?? "default", configuration.password ?? ""]
        }
        var commands = [hello.map(\.bytes)]
        if configuration.database != 0 { commands.append(["SELECT", "\(configuration.database)"].map(\.bytes)) }
        commands.append(["CLIENT", "TRACKING", "ON"].map(\.bytes))
        for script in [LeaseScripts.acquire, LeaseScripts.fill, LeaseScripts.release] {
            commands.append(["SCRIPT", "LOAD", script].map(\.bytes))
        }
        let sentAt = ContinuousClock.now
        connection.send(commands, within: configuration.timeout) { [weak self] result in
            guard let self else { return connection.close() }
            switch result {
            case .failure(let error): fail(connection, number, .unreachable(error.description))
            case .success(let replies):
                if let issue = Self.issue(in: replies) { return fail(connection, number, issue) }
                didGreet(connection, number, sentAt, replies.suffix(3))
            }
        }
    }

    /// What speaks against this server.
    private static func issue(in replies: [RESPValue]) -> ValkeyIssue? {
        guard let hello = replies.first else { return .refused("no reply") }
        if case .error(let reason) = hello {
            let isAboutPassword = ["NOAUTH", "WRONGPASS", "ERR AUTH"].contains { reason.hasPrefix($0) }
            return isAboutPassword ? .notAuthenticated(reason) : refusal(reason)
        }
        if hello["mode"]?.text == "cluster" { return .isCluster }
        if isReplica(hello["role"]) { return .isReplica }
        for case .error(let reason) in replies {
            return reason.hasPrefix("NOAUTH") ? .notAuthenticated(reason) : refusal(reason)
        }
        return nil
    }

    /// A server that reads its data after a start, is busy with a script or has too many clients may accept the tier at
    /// any moment, as one that cannot be reached.
    private static func refusal(_ reason: String) -> ValkeyIssue {
        let isForNow = ["LOADING", "BUSY", "ERR max number of clients"].contains { reason.hasPrefix($0) }
        return isForNow ? .unreachable(reason) : .refused(reason)
    }

    private static func isReplica(_ role: RESPValue?) -> Bool {
        guard let role = role?.text else { return false }
        return role != "master" && role != "primary"
    }

    private func didGreet(
        _ connection: any ValkeyConnection,
        _ number: Int,
        _ sentAt: ContinuousClock.Instant,
        _ scripts: ArraySlice<RESPValue>
    ) {
        let names = scripts.map { $0.text?.bytes ?? [] }
        let aliveUntil = sentAt + configuration.longestSilence
        let isCurrent = state.withLock { state in
            guard case .greeting = state.phase, state.number == number else { return false }
            state.phase = .connected(connection)
            state.issue = nil
            state.scripts = Scripts(acquire: names[0], fill: names[1], release: names[2])
            state.aliveUntil = aliveUntil
            return true
        }
        guard isCurrent else { return connection.close() }
        ownReport.withLock { $0 = nil }
        linkChange.signal()
        publish(.connected(aliveFor: ContinuousClock.now.duration(to: aliveUntil)))
        scheduleHeartbeat(connection, number)
        tick(number)
    }

    private func fail(_ connection: any ValkeyConnection, _ number: Int, _ issue: ValkeyIssue) {
        didClose(number, issue)
        connection.close()
    }

    /// There is no connection any more, or an attempt has failed: tries again after a pause.
    private func didClose(_ number: Int, _ issue: ValkeyIssue) {
        let failures = state.withLock { state -> Int? in
            guard state.number == number else { return nil }
            switch state.phase {
            case .idle, .waiting, .stopped: return nil
            case .connecting, .greeting, .connected: break
            }
            state.phase = .waiting
            state.issue = issue
            state.failures += 1
            return state.failures
        }
        guard let failures else { return }
        linkChange.signal()
        publish(.lost)
        configuration.issueHandler?(issue)
        transport.schedule(after: pause(afterFailures: failures - 1, issue)) { [weak self] in self?.connect() }
    }

    // MARK: Proof of life

    /// How often subscribers hear that time has passed.
    private static var tickInterval: Duration { .milliseconds(10) }

    private func tick(_ number: Int) {
        guard isConnected(number) else { return }
        publish(.tick)
        transport.schedule(after: Self.tickInterval) { [weak self] in self?.tick(number) }
    }

    private func scheduleHeartbeat(_ connection: any ValkeyConnection, _ number: Int) {
        transport.schedule(after: configuration.boundedHeartbeat) { [weak self] in self?.beat(connection, number) }
    }

    /// A reply to a `PING` proves that every report from before the `PING` has been read. `ROLE` tells whether the
    /// server has become a replica meanwhile, which reports its own changes alone; who may not ask gets an error, and
    /// goes on.
    private func beat(_ connection: any ValkeyConnection, _ number: Int) {
        guard isConnected(number) else { return }
        let sentAt = ContinuousClock.now
        connection.send([["PING".bytes], ["ROLE".bytes]], within: configuration.timeout) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let replies):
                if case .array(let role)? = replies.last, Self.isReplica(role.first) {
                    return fail(connection, number, .isReplica)
                }
                let aliveUntil = sentAt + configuration.longestSilence
                state.withLock { ($0.aliveUntil, $0.failures) = (aliveUntil, 0) }
                ownReport.withLock { $0 = nil }
                if isConnected(number) { publish(.alive(for: ContinuousClock.now.duration(to: aliveUntil))) }
            case .failure: fail(connection, number, .unreachable("no sign of life within \(configuration.timeout)"))
            }
        }
        scheduleHeartbeat(connection, number)
    }

    private func isConnected(_ number: Int) -> Bool {
        state.withLock { $0.connection != nil && $0.number == number }
    }
}

extension String {
    /// The text's UTF-8.
    var bytes: [UInt8] { Array(utf8) }
}
#endif
