//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Synchronization
public import TieredCaching

extension ValkeyTier {
    /// The value of `key`; nil if there is none, if a lease stands there, or if it is no string that a reply may hold.
    public nonisolated(nonsending) func read(_ key: String, within limit: Duration) async throws -> RemoteValue? {
        try check(key)
        // Not `GET`: the reply to it may be larger than the connection accepts, which is shared by all.
        let (name, most) = (key.bytes, configuration.largestValue)
        let range = [Words.getRange, name, Words.zero, largestValueWord]
        let end = ContinuousClock.now + min(limit, .seconds(1 << 32))
        var replies = try await send([range, [Words.pttl, name]], limit)
        // No value and an empty one look alike, and the key may have come between the two commands.
        if case .bytes([]) = replies[0], replies[1] != .integer(-2) {
            replies = try await send([["GET".bytes, name], [Words.pttl, name]], Self.left(until: end))
        }
        guard case .bytes(let bytes) = replies[0], case .integer(let milliseconds) = replies[1] else {
            // Another type is no value; whoever acquires the key overwrites it.
            if case .error(let reason) = replies[0], !reason.hasPrefix("WRONGTYPE") { throw Self.error(reason) }
            return nil
        }
        // The key may have gone between the two commands, and then it has been reported.
        if LeaseScripts.isMarker(bytes) || milliseconds == -2 || bytes.count > most { return nil }
        return RemoteValue(bytes: bytes, remaining: milliseconds < 0 ? nil : .milliseconds(milliseconds))
    }

    /// The value if it is fresh, else the lease or the news that another one has it.
    public nonisolated(nonsending) func acquire(
        _ key: String,
        _ terms: LeaseTerms,
        within limit: Duration
    ) async throws -> LeaseAnswer {
        try check(key)
        let reply = try await call(
            \.acquire,
            key,
            [
                terms.token.digits, Self.milliseconds(terms.duration), Self.milliseconds(terms.staleBelow, atLeast: 0),
                (terms.unusable == nil ? "0" : "1").bytes, terms.unusable ?? [],
                largestValueWord,
            ],
            limit
        )
        guard case .array(let items) = reply, let answer = items.first?.text else { throw Self.unexpected(reply) }
        switch (answer, items.dropFirst().first, items.dropFirst(2).first) {
        case ("found", .bytes(let bytes), .integer(let left)):
            return .found(RemoteValue(bytes: bytes, remaining: left < 0 ? nil : .milliseconds(left)))
        case ("granted", let stale, _): return .granted(stale: stale?.blob)
        case ("held", .integer(let left), let stale):
            return .held(remaining: .milliseconds(left), stale: stale?.blob)
        case ("full", _, _): return .full
        default: throw Self.unexpected(reply)
        }
    }

    /// Stores `bytes` if the lease still stands; whether it does.
    public nonisolated(nonsending) func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool {
        try check(key)
        try check(bytes)
        let reply = try await call(\.fill, key, [lease.digits, bytes, Self.milliseconds(lifetime)], limit)
        switch reply.text {
        case "stored": return true
        case "refused": return false
        case "full": throw RemoteTierError.full
        default: throw Self.unexpected(reply)
        }
    }

    /// Gives a lease back without a value.
    public nonisolated(nonsending) func release(
        _ key: String,
        lease: LeaseToken,
        within limit: Duration
    ) async throws {
        _ = try await call(\.release, key, [lease.digits], limit)
    }

    /// Stores `bytes`, whatever is there.
    public nonisolated(nonsending) func write(
        _ key: String,
        _ bytes: [UInt8],
        lifetime: Duration,
        within limit: Duration
    ) async throws {
        try check(key)
        try check(bytes)
        let command = ["SET".bytes, key.bytes, bytes, "PX".bytes, Self.milliseconds(lifetime)]
        try await change(key, by: command, limit)
    }

    /// Removes the value and ends any lease.
    public nonisolated(nonsending) func remove(_ key: String, within limit: Duration) async throws {
        try await change(key, by: ["DEL".bytes, key.bytes], limit)
    }

    private nonisolated(nonsending) func change(_ key: String, by command: [[UInt8]], _ limit: Duration) async throws {
        if case .error(let reason) = try await send([command], limit, changing: key)[0] { throw Self.error(reason) }
    }

    /// What every read sends.
    private enum Words {
        static let getRange = "GETRANGE".bytes, pttl = "PTTL".bytes, zero = "0".bytes
    }

    // MARK: Sending

    /// Sends commands and waits for their replies. Cancelling the task changes nothing: the command is on its way.
    ///
    /// - Parameters:
    ///   - key: the key that the command writes if it answers so, by a script that had read it.
    ///   - changed: the key that the command changes. All caches of this tier are told before the caller goes on: the
    ///     server's report comes behind the reply, and a value that another one of them holds could be read meanwhile.
    package nonisolated(nonsending) func send(
        _ commands: [[[UInt8]]],
        _ limit: Duration,
        writing key: String? = nil,
        changing changed: String? = nil
    ) async throws -> [RESPValue] {
        guard let connection = state.withLock({ $0.connection }) else { throw RemoteTierError.disconnected }
        return try await withCheckedThrowingContinuation { continuation in
            connection.send(commands, within: limit) { [self] result in
                let hasWritten = key != nil && (try? result.get())?.last?.saysWritten ?? false
                ownReport.withLock { $0 = hasWritten ? key : nil }
                // Late is not undone. A loss tells for itself, and what was not sent has changed nothing.
                switch result {
                case .success, .failure(.timedOut): if let changed { publish(.invalidated([changed])) }
                case .failure: break
                }
                continuation.resume(with: result.mapError { $0 as any Error })
            }
        }
    }

    /// Calls a script by the name that the server gave it; loads it again if the server has forgotten it.
    private nonisolated(nonsending) func call(
        _ script: any KeyPath<Scripts, [UInt8]> & Sendable,
        _ key: String,
        _ arguments: [[UInt8]],
        _ limit: Duration
    ) async throws -> RESPValue {
        let name = state.withLock { $0.scripts[keyPath: script] }
        let tail = ["1".bytes, key.bytes] + arguments
        let end = ContinuousClock.now + min(limit, .seconds(1 << 32))
        var reply = try await send([["EVALSHA".bytes, name] + tail], limit, writing: key)[0]
        if case .error(let reason) = reply, reason.hasPrefix("NOSCRIPT") {
            let source = Self.sources[keyPath: script]
            reply = try await send([["EVAL".bytes, source] + tail], Self.left(until: end), writing: key)[0]
        }
        if case .error(let reason) = reply { throw Self.error(reason) }
        return reply
    }

    /// What an operation that has to ask again has left of its time.
    private static func left(until end: ContinuousClock.Instant) -> Duration {
        max(.milliseconds(1), ContinuousClock.now.duration(to: end))
    }

    private static let sources = Scripts(
        acquire: LeaseScripts.acquire.bytes,
        fill: LeaseScripts.fill.bytes,
        release: LeaseScripts.release.bytes
    )

    private static func milliseconds(_ duration: Duration, atLeast least: Int64 = 1) -> [UInt8] {
        // A server refuses lifetimes that overflow its clock; a century does not.
        "\(max(least, duration.wholeNanoseconds / 1_000_000))".bytes
    }

    /// The server tracks a key that it has been asked for, and names it when it changes: in a message that has to fit.
    private func check(_ key: String) throws {
        if key.utf8.count > configuration.largestValue { throw RemoteTierError.tooLarge(key.utf8.count) }
    }

    private func check(_ bytes: [UInt8]) throws {
        if bytes.count > configuration.largestValue { throw RemoteTierError.tooLarge(bytes.count) }
        if LeaseScripts.isMarker(bytes) { throw RemoteTierError.refused("The value reads as the marker of a lease.") }
    }

    private static func error(_ reason: String) -> RemoteTierError {
        reason.hasPrefix("OOM") ? .full : .refused(reason)
    }

    private static func unexpected(_ reply: RESPValue) -> RemoteTierError {
        .refused("An unexpected reply: \(reply)")
    }
}

extension RESPValue {
    /// The bytes of a string; nil for other values.
    fileprivate var blob: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// Whether a script says that it has written the key.
    fileprivate var saysWritten: Bool {
        if case .array(let items) = self { return items.first?.text == "granted" }
        return text == "stored" || text == "released"
    }
}
#endif
