//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure
internal import Synchronization

/// When a cache last looked after itself.
struct PurgeableMaintenance: ~Copyable {
    /// Set while a thread looks after the cache; others then leave it to that one. A flag and not a lock, because
    /// keys of entries that go are destroyed meanwhile, and their deinitialisers may use the cache.
    private let isRunning = Atomic<Bool>(false)
    /// Whether something is to be gone on with: ``PurgeableChores/isAny``, for those who may not look there.
    let hasChores = Atomic<Bool>(false)
    /// Set by a removal of everything: what was known of the pages is void.
    let wasEmptied = Atomic<Bool>(false)
    /// Bytes inserted so far: segments sealed and large values.
    let insertedAtCensus = Atomic<Int>(0)
    /// Bytes that values took which have been removed since, for which no step has been made yet.
    let removedBytes = Atomic<Int>(0)
    /// Bytes that the values took in segments at the last census for which bytes were inserted or removed.
    let heldAtCensus = Atomic<Int>(0)
    /// Bytes to be inserted or removed until the next census.
    let interval = Atomic<Int>(leastInterval)
    /// Nanoseconds of the last census on the monotonic clock.
    let lastCensus = Atomic<Int>(now())

    /// 4 MiB: taking a census of 256 MiB takes 0.25 ms, filling 4 MiB with fresh pages at least 1.2 ms.
    static let leastInterval = 4 << 20
    /// The index is swept about once while a sixteenth of the cache is replaced, so that a sweep costs each insertion
    /// a look at 16 entries: some 30 ns.
    static let intervalShare = 16
    /// A census each second, even if nothing is inserted, so that entries of lost items do not linger.
    static let nanosecondsBetween = 1_000_000_000
    /// Where memory is short the governor may ask thousands of times a second; a census for it every 20 ms will do.
    static let nanosecondsBetweenRequests = 20_000_000
    /// The clock is looked at every so many operations of a shard.
    static let operationsBetween = 4096

    /// Segments about which the kernel is asked in one census, by turns, where nobody waits for the answer: 0.2 ms.
    static let segmentsPerCensus = 256

    /// Runs `body` unless another thread is at it; nil then.
    func alone<R>(_ body: () -> R) -> R? {
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        defer { isRunning.store(false, ordering: .releasing) }
        return body()
    }

    static func now() -> Int { Int(truncatingIfNeeded: Platform.monotonicNanoseconds()) }
}
