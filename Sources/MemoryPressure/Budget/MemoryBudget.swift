//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What this process may use of memory, and what it does use.
///
/// ```swift
/// let budget = MemoryBudget.current()
/// print(budget.limitBytes ?? 0, budget.usedBytes, budget.availableBytes)
/// ```
/// The limit is the least of memory.max and memory.high (cgroup version 2) or memory.limit_in_bytes (version 1) over
/// the process's own cgroup and all its ancestors, of RLIMIT_AS and RLIMIT_DATA, and of the machine's memory. Used is
/// what the kernel charges against it less what can be had at once: inactive file pages, which the kernel takes back
/// before it refuses anything (page cache not in use and lazily freed pages), and, against the limits of setrlimit(2),
/// half of what lies free in the allocator's heap. For a container that is the kubelet's "working set". Resident set size plays
/// no part: it counts pages that are free for the taking, and misses what the kernel charges elsewhere.
public struct MemoryBudget: Sendable, Hashable {
    /// The least limit that binds this process, in bytes; nil where none could be found.
    public var limitBytes: Int?

    /// What counts against that limit and cannot be taken back at once, in bytes.
    public var usedBytes: Int

    /// What may still be used, in bytes: the least room under any of the limits, 0 or more. Where an ancestor is full
    /// of others' memory this is less than the difference of the other two. `Int.max` where nothing is known.
    public var availableBytes: Int

    /// Reads the budget of this process: some 50 µs of small files, and no state kept.
    public static func current() -> MemoryBudget { current(.system) }

    /// Reads the budget from `files`.
    package static func current(_ files: SystemFiles) -> MemoryBudget {
        let readings = MemoryConstraint.all(files).map { (limit: $0.limit, used: $0.used(files) ?? 0) }
        guard let tightest = readings.min(by: { $0.limit < $1.limit }) else {
            return MemoryBudget(limitBytes: nil, usedBytes: 0, availableBytes: .max)
        }
        let available = readings.map { max(0, $0.limit - $0.used) }.min() ?? .max
        return MemoryBudget(limitBytes: tightest.limit, usedBytes: tightest.used, availableBytes: available)
    }
}
