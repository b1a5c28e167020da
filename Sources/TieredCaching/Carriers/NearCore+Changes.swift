//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization

extension NearLink {
    /// Joins the flight of a key, or files a new one.
    func board(_ name: String) -> (flight: TierFlight, waiter: TierFlight.Waiter, isNew: Bool) {
        while true {
            if let shared = withMachine({ $0.flight(of: name) }), let waiter = shared.join() {
                return (shared, waiter, false)
            }
            let flight = TierFlight()
            guard let waiter = flight.join() else { continue }
            var isFiled = false
            let displaced = revoking { machine in
                // Another caller may have filed one since; if it admits, the next round joins it.
                if let other = machine.flight(of: name), other.isAdmitting { return nil }
                isFiled = true
                return machine.file(flight, forKey: name)
            }
            tell(displaced)
            if isFiled { return (flight, waiter, true) }
        }
    }
}

extension NearCore {
    /// Changes a key in the remote tier. The near value is dropped before the request is sent and again when its
    /// outcome is known, or known to stay unknown: what a lookup read in between may be from before the change.
    nonisolated(nonsending) func change(
        _ key: Key,
        _ operation: String,
        retries: Int,
        _ request: (_ remoteKey: String, _ limit: Duration) async throws -> Void
    ) async throws {
        let name = key.description
        let deadline = link.now + link.options.changeTimeout.milliseconds
        drop(name, key)
        defer { drop(name, key) }
        var attempt = 0
        while true {
            do {
                let footing = try await footing(until: deadline)
                let rest = deadline - link.now
                // A retry needs time of its own: one request may not use up all that is left.
                let limit = attempt < retries ? max(1, rest / 2) : max(1, rest)
                try await LoadSpan.step(operation, cache: near.name) {
                    try await request(Keyspace.remoteKey(name, prefix: footing.prefix), .milliseconds(limit))
                }
                link.breaker.succeeded()
                // Else it has changed what nobody asks for any more, and is sent again.
                if try await isStanding(footing, until: deadline) { return }
                guard link.now < deadline else { throw RemoteTierError.timedOut }
            } catch let error as RemoteTierError {
                link.noteFailure(error)
                let isTransient = error == .disconnected || error == .timedOut
                guard isTransient, attempt < retries, link.now < deadline else { throw error }
                try? await Task.sleep(for: .milliseconds(Int.random(in: 5...20) << attempt))
                attempt += 1
            }
        }
    }

    /// What a change is sent under. Unlike a lookup it has no origin to go to, and waits on while joining fails.
    private nonisolated(nonsending) func footing(until deadline: Int64) async throws -> NearLink.Machine.Footing {
        try await link.first(within: .milliseconds(max(0, deadline - link.now))) { machine in
            machine.footing.map { .success($0) } ?? (machine.link == .down ? .failure(.disconnected) : nil)
        }
    }

    /// Whether keys have the prefix still that an operation which has been answered was sent under. The server reports
    /// another epoch before it answers what came after that.
    private nonisolated(nonsending) func isStanding(
        _ footing: NearLink.Machine.Footing,
        until deadline: Int64
    ) async throws -> Bool {
        let rest = Duration.milliseconds(max(0, deadline - link.now))
        return try await link.first(within: rest) { $0.isStanding(footing) }
    }

    /// Writes a new epoch. This process serves nothing from before, and joins again by itself.
    nonisolated(nonsending) func clear() async throws {
        let deadline = link.now + link.options.changeTimeout.milliseconds
        // Also where it fails: it may have been written.
        defer { flush() }
        do {
            _ = try await footing(until: deadline)
            flush()
            try await LoadSpan.step("cache.remote.clear", cache: near.name) {
                try await link.tier.write(
                    link.keyspace.epochKey,
                    Keyspace.newEpoch(),
                    lifetime: Keyspace.epochLifetime,
                    within: .milliseconds(max(1, deadline - link.now))
                )
            }
        } catch {
            link.noteFailure(error)
            throw error
        }
        link.breaker.succeeded()
    }
}
