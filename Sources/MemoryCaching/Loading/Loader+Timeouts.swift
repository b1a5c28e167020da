//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// How long the loads of a cache may take.
struct LoadTimeouts: Sendable {
    /// After how long a fallback answers.
    let soft: Duration?
    /// After how long a load has failed.
    let hard: Duration?
    let clock: any Clock<Duration>

    /// What `options` say; nil where loads may take any time.
    init?<Key, Value>(_ options: MemoryCacheOptions<Key, Value>) {
        let hard = options.loadTimeout.flatMap { $0 > .zero ? min($0, Self.longest) : nil }
        let keepsFallbacks = options.keepsExpiredFor ?? .zero > .zero
        var soft = keepsFallbacks ? options.softLoadTimeout.map { min(max($0, .zero), Self.longest) } : nil
        if let hard, soft ?? .zero >= hard { soft = nil }
        guard soft != nil || hard != nil else { return nil }
        (self.soft, self.hard, clock) = (soft, hard, options.clock)
    }

    /// A century: moments that lie farther away overflow in some clocks.
    private static let longest = Duration.seconds(100 * 365 * 86_400)
}

// Timeouts: a task beside each load that sleeps until the load has ended or takes too long.
extension Loader {
    /// Watches the time that the load of `flights` takes; nil where it may take any. To be cancelled when it has ended.
    func watch(
        _ flights: [Flight<Key, Value>],
        of run: LoadRun,
        _ reason: CacheLoad<Key>.Reason
    ) -> Task<Void, Never>? {
        timeouts.map { watch(flights, of: run, reason, $0, by: $0.clock) }
    }

    private func watch<C: Clock<Duration>>(
        _ flights: [Flight<Key, Value>],
        of run: LoadRun,
        _ reason: CacheLoad<Key>.Reason,
        _ timeouts: LoadTimeouts,
        by clock: C
    ) -> Task<Void, Never> {
        let start = clock.now
        let began = self.clock.nanoseconds()
        // Detached: it is no part of the load, and of no other load that the caller is inside.
        return Task.detached(priority: Task.currentPriority) { [self] in
            do {
                if let soft = timeouts.soft {
                    try await Self.sleep(since: start, from: .zero, to: soft, by: clock)
                    for flight in flights { flight.becomeOverdue { store.fallback(forKey: flight.key) } }
                }
                guard let hard = timeouts.hard else { return }
                try await Self.sleep(since: start, from: timeouts.soft ?? .zero, to: hard, by: clock)
                if run.end() { timeOut(flights, of: run, reason, after: hard, since: began) }
            } catch {
                // The load has ended.
            }
        }
    }

    /// Sleeps until `end` after `start`, of which `begin` is over, in steps that are each as long as all before.
    ///
    /// The runtime keeps what belongs to a sleep until the sleep's deadline, also where its task has been cancelled and
    /// has ended: some 500 bytes for each load of the last hour where a load may take an hour. In steps it is kept for
    /// about as long again as the load took.
    private static func sleep<C: Clock<Duration>>(
        since start: C.Instant,
        from begin: Duration,
        to end: Duration,
        by clock: C
    ) async throws {
        var next = begin
        while next < end {
            next = min(end, next + max(next, firstStep))
            try await clock.sleep(until: start.advanced(by: next), tolerance: nil)
        }
    }

    /// Most loads end within it, and wake nobody in between. What 10,000 loads in a second leave is kept for as long:
    /// .3 MB.
    private static var firstStep: Duration { .milliseconds(64) }

    /// The load takes too long: it has failed, and is cancelled before those who wait are told.
    private func timeOut(
        _ flights: [Flight<Key, Value>],
        of run: LoadRun,
        _ reason: CacheLoad<Key>.Reason,
        after timeout: Duration,
        since began: Int64
    ) {
        let errors = flights.map { CacheLoadTimeoutError(key: "\($0.key)", timeout: timeout) }
        endLoad(flights.map(\.key), of: run, reason, since: began, .failed(errors[0]))
        let woken = zip(flights, errors).map { flight, error in
            // Remembered first: what is revoked is forgotten.
            didFail(flight, error)
            flight.becomeOverdue { store.fallback(forKey: flight.key) }
            return flight.timeOut(error)
        }
        // Not earlier: a load that ends by its cancellation would land before the flights know of the timeout.
        run.cancel()
        for (continuations, error) in zip(woken, errors) {
            for continuation in continuations { continuation.resume(returning: .failure(error)) }
        }
    }
}
