//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure
internal import Synchronization

/// Room for memory that is not a cache's.
///
/// Caches without a limit fill what the container has, but for a reserve: what the rest of the process may take at
/// once, faster than entries can be evicted and their memory returned to the system. ``burstBytes`` says how much that
/// is. A larger amount, known beforehand, is announced:
///
/// ```swift
/// let picture = try MemoryReserve.withFree(bytes: width * height * 4) { _ in try decode(file) }
/// ```
///
/// <doc:RoomForTheRest> says what is promised and what is not.
public enum MemoryReserve {
    private static let burst = Atomic(-1)

    /// Bytes that the rest of the process may take at once without announcing them. `nil` (the default) means a quarter
    /// of the budget.
    ///
    /// Caches leave this free, less what they are able to give back while it is taken, as measured; an eighth of the
    /// budget at least and half of it at most. A process that takes little beside its caches sets less and caches more.
    /// Negative numbers count as 0. Takes effect with the next insertion.
    public static var burstBytes: Int? {
        get {
            let bytes = burst.load(ordering: .relaxed)
            return bytes < 0 ? nil : bytes
        }
        set { burst.store(newValue.map { max(0, $0) } ?? -1, ordering: .relaxed) }
    }

    /// Makes `bytes` free, calls `body`, and keeps them free from all caches of the process until it returns.
    ///
    /// Entries are evicted, least worth first, and their memory is returned to the system, on the calling thread,
    /// before `body` begins. While it runs, caches may fill what is left beside `bytes`. What `body` allocates counts
    /// against `bytes`, so the same memory is not kept free twice, as far as it can be told from what caches hold:
    /// <doc:RoomForTheRest> says where it cannot. Calls nest and run side by side, and their bytes add up. None waits
    /// for another one's `body`. Where memory is missing, one thread makes room for all, and the others wait until it
    /// is there. In a removal handler of an entry that goes to make room no more is made: the eviction that the handler
    /// is part of goes on after it, and counts what is announced by then.
    ///
    /// - Parameters:
    ///   - bytes: the memory that `body` is about to use. 0 or less makes no room.
    ///   - body: uses the memory. It is told how many bytes are free now: less than `bytes` where the caches could not
    ///     give as much, and `Int.max` where the process has no limit that is known.
    /// - Returns: what `body` returns.
    /// - Complexity: 13 to 57 µs where the memory is free, as measured with and without a cgroup; some milliseconds for
    ///   each 10 MiB that is not (some ten where values are a few hundred bytes). Removal handlers of evicted entries
    ///   run on the calling thread.
    public static func withFree<R, E>(bytes: Int, _ body: (_ freeBytes: Int) throws(E) -> R) throws(E) -> R {
        let (announcement, freeBytes) = Announcement.begin(bytes)
        defer { announcement?.end() }
        return try body(freeBytes)
    }

    /// Makes `bytes` free, calls the asynchronous `body`, and keeps them free from all caches of the process until it
    /// returns.
    ///
    /// As the synchronous function; room is made on the calling thread, before `body` begins.
    ///
    /// - Parameters:
    ///   - bytes: the memory that `body` is about to use. 0 or less makes no room.
    ///   - body: uses the memory. It is told how many bytes are free now.
    /// - Returns: what `body` returns.
    public nonisolated(nonsending) static func withFree<R, E>(
        bytes: Int,
        _ body: nonisolated(nonsending) (_ freeBytes: Int) async throws(E) -> R
    ) async throws(E) -> R {
        let (announcement, freeBytes) = Announcement.begin(bytes)
        defer { announcement?.end() }
        return try await body(freeBytes)
    }
}
