//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// The budget read again and again: open files, and no more of them than it takes.
///
/// A reading in the middle of a burst costs one pread of a usage file (0.5 µs). What changes slowly is read less often,
/// and each economy is bounded:
/// - The tree of limits is read again when it is a second old, because containers are resized, and when the process has
///   been moved to another cgroup, which is looked at with all limits.
/// - How much of usage is file pages costs 7 µs, so the last figure is used again for 2 ms near the mark and 50 ms far
///   from it; where file pages fill the limit, for no time. Whoever is about to evict asks for an exact reading.
/// - Limits with more than a gigabyte to their mark, and four times what the tightest one has, are skipped for 50 ms.
///
/// Files that vanish or hold garbage drop out until the tree is read again, which a failed reading brings about at
/// once; the limits that remain govern.
package final class MemoryGauge: Sendable {
    /// The tightest constraint as it stands.
    package struct Reading: Sendable, Equatable {
        /// Bytes that the constraint allows.
        package var limit: Int
        /// Bytes used of it that the kernel does not take back by itself. Less than ``MemoryBudget/usedBytes`` where
        /// much page cache is in use, and more where file pages are pinned.
        package var used: Int
        /// Counts the readings that found the file pages changed by more than a mebibyte: bytes used in readings with
        /// different numbers are not comparable.
        package var correction: Int
        /// Bytes that lie free in the allocator's heap and are not in ``used``, though the constraint counts them.
        package var leftOut: Int
        /// Bytes that the smallest constraint allows, which need not be the tightest one: a machine may be short of
        /// memory while a container on it is not.
        package var leastLimit: Int
        /// Whether the constraint counts what is mapped (RLIMIT_AS, RLIMIT_DATA): for its sake the kernel takes no pages.
        package var countsMapped: Bool
        /// Whether any constraint does.
        package var isMappingLimited: Bool

        package init(
            limit: Int,
            used: Int,
            correction: Int = 0,
            leftOut: Int = 0,
            leastLimit: Int? = nil,
            countsMapped: Bool = false,
            isMappingLimited: Bool = false
        ) {
            self.limit = limit
            self.used = used
            self.correction = correction
            self.leftOut = leftOut
            self.leastLimit = leastLimit ?? limit
            self.countsMapped = countsMapped
            self.isMappingLimited = isMappingLimited
        }

        /// Bytes to the mark of the least reserve; negative beyond it.
        package var untilMark: Int { MemoryMarks(limit: limit).mark - used }
    }

    private struct State {
        var treeReadAt: UInt64?
        var constraints: [MemoryConstraint] = []
        var kept: [KeptConstraint] = []
        var allReadAt: UInt64 = 0
        /// The text of /proc/self/cgroup, by which a process that was moved is told.
        var membership: String?
        var correction = 0
    }

    /// How old each economy may become, in nanoseconds.
    private static let treeAge: UInt64 = 1_000_000_000
    fileprivate static let farAge: UInt64 = 50_000_000
    fileprivate static let nearAge: UInt64 = 2_000_000

    private let files: SystemFiles
    private let pinnedBytes: @Sendable () -> Int
    private let state = ForkSafeMutex(State())

    /// The directory whose files stand for the system's; empty where they are the system's own.
    package var root: String { files.root }

    /// A gauge of `files`; opens nothing before the first reading.
    ///
    /// - Parameter pinnedBytes: bytes of this process that the kernel counts as file pages that it could take, and
    ///   could not: a page that was freed lazily and is in use again stays on that list until reclaim meets it.
    package init(_ files: SystemFiles = .system, pinnedBytes: @escaping @Sendable () -> Int = { 0 }) {
        self.files = files
        self.pinnedBytes = pinnedBytes
    }

    /// The tightest constraint at `now` (monotonic nanoseconds); nil where none can be read.
    package func read(now: UInt64, exact: Bool = false) -> Reading? {
        state.withLock { state in
            // A clock that jumps back makes the difference wrap, and everything is read again.
            let isMoved = now &- state.allReadAt >= Self.farAge && files.text("/proc/self/cgroup") != state.membership
            if isMoved || state.treeReadAt.map({ now &- $0 >= Self.treeAge }) ?? true { readTree(&state, now) }
            if let reading = read(&state, now, exact) { return reading }
            readTree(&state, now)
            return read(&state, now, true)
        }
    }

    private func readTree(_ state: inout State, _ now: UInt64) {
        state.treeReadAt = now
        state.membership = files.text("/proc/self/cgroup")
        let constraints = MemoryConstraint.all(files)
        guard constraints != state.constraints || state.kept.count != constraints.count else { return }
        let old = Dictionary(state.kept.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        state.constraints = constraints
        state.kept = constraints.compactMap { constraint in
            if let kept = old[constraint.key] {
                kept.limit = constraint.limit
                return kept
            }
            return KeptConstraint(constraint, files)
        }
        state.allReadAt = now &- Self.farAge
    }

    private func read(_ state: inout State, _ now: UInt64, _ exact: Bool) -> Reading? {
        let readsAll = exact || now &- state.allReadAt >= Self.farAge
        if readsAll { state.allReadAt = now }
        let pinned = pinnedBytes()
        let leastUntilMark = state.kept.lazy.map(\.untilMark).min() ?? .max
        let (bound, overflow) = max(leastUntilMark, 0).multipliedReportingOverflow(by: 4)
        let skipBeyond = max(overflow ? .max : bound, 1 << 30)

        var tightest: KeptConstraint?
        for kept in state.kept {
            if readsAll || kept.untilMark <= skipBeyond {
                guard kept.read(now, exact: exact, pinned: pinned, &state.correction) else {
                    kept.untilMark = .max
                    continue
                }
            }
            if kept.untilMark < tightest?.untilMark ?? .max { tightest = kept }
        }
        return tightest.map {
            Reading(
                limit: $0.limit,
                used: $0.used,
                correction: state.correction,
                leftOut: $0.leftOut,
                leastLimit: state.kept.lazy.filter { $0.untilMark < .max }.map(\.limit).min(),
                countsMapped: $0.countsMapped,
                isMappingLimited: state.kept.contains(where: \.countsMapped)
            )
        }
    }
}

/// A constraint with its files open. Touched under the gauge's lock only.
private final class KeptConstraint {
    let kind: MemoryConstraint.Kind
    let key: MemoryConstraint.Key
    var limit: Int
    var used = 0
    /// Bytes to the mark at the last reading; `Int.min` before the first, so that nobody skips it.
    var untilMark = Int.min
    private let usage: KeptFile
    private let statistics: KeptFile?
    private let unusedHeapBytes: @Sendable () -> Int
    /// Bytes that are charged and can be had at once: file pages, or half of what lies free in the heap.
    private var reclaimable = 0
    private var reclaimableReadAt: UInt64?
    /// Those of them that lie free in the heap.
    var leftOut: Int { countsMapped ? reclaimable : 0 }
    var countsMapped: Bool { if case .resource = kind { true } else { false } }
    /// Nanoseconds that the last question for it took.
    private var reclaimableCost: UInt64 = 0

    /// Bytes of page cache in use that nothing reclaims: a sixteenth of the limit, for the code that runs.
    private static func pageCacheThatStays(_ limit: Int) -> Int { limit / 16 }

    init?(_ constraint: MemoryConstraint, _ files: SystemFiles) {
        kind = constraint.kind
        key = constraint.key
        limit = constraint.limit
        unusedHeapBytes = files.unusedHeapBytes
        let path: String
        switch constraint.kind {
        case .cgroup(let version, let directory):
            path = version.usagePath(in: directory)
            statistics = KeptFile(files.root + directory + "/memory.stat")
        case .resource:
            path = "/proc/self/statm"
            statistics = nil
        case .machine:
            path = "/proc/meminfo"
            statistics = nil
        }
        guard let file = KeptFile(files.root + path) else { return nil }
        usage = file
    }

    func read(_ now: UInt64, exact: Bool, pinned: Int, _ correction: inout Int) -> Bool {
        switch kind {
        case .resource(let resource):
            guard let pages = usage.number(at: resource.place) else { return false }
            let mapped = pages.multipliedReportingOverflow(by: Platform.pageSize).partialValue
            // Heaps of many free chunks take milliseconds to count: a twentieth of the time at most.
            let isNear = mapped - reclaimable > MemoryMarks(limit: limit).near
            let age = max(isNear ? MemoryGauge.nearAge : MemoryGauge.farAge, 19 * reclaimableCost)
            if mapped > limit / 2, exact || reclaimableReadAt.map({ now &- $0 >= age }) ?? true {
                let begin = Platform.monotonicNanoseconds()
                reclaimable = MemoryConstraint.usable(unusedHeapBytes())
                reclaimableCost = Platform.monotonicNanoseconds() &- begin
                reclaimableReadAt = now
            }
            used = max(0, mapped - reclaimable)
        case .machine:
            guard let kibibytes = usage.number(after: "MemAvailable:") else { return false }
            used = max(0, limit - kibibytes.multipliedReportingOverflow(by: 1024).partialValue)
        case .cgroup(let version, _):
            guard let charged = usage.number() else { return false }
            let marks = MemoryMarks(limit: limit)
            // With much page cache the old figure says nothing: usage cannot rise above the limit, nor tell how near it
            // is.
            let isNear = charged - reclaimable > marks.near
            let age = charged > marks.warning ? 0 : isNear ? MemoryGauge.nearAge : MemoryGauge.farAge
            if exact || reclaimableReadAt.map({ now &- $0 >= age }) ?? true {
                let names: (StaticString, StaticString) =
                    version == .v1
                    ? ("total_inactive_file ", "total_active_file ") : ("inactive_file ", "active_file ")
                let (inactive, active) = statistics?.numbers(after: names.0, names.1) ?? (nil, nil)
                // Page cache in use is reclaimed, too, before anything is killed, at the cost of reading it again.
                let latest = (inactive ?? 0) + max(0, (active ?? 0) - Self.pageCacheThatStays(limit))
                // A page more or less is no matter; a megabyte would be taken for growth.
                if abs(latest - reclaimable) > 1 << 20 { correction &+= 1 }
                reclaimable = latest
                reclaimableReadAt = now
            }
            used = max(0, charged - max(0, reclaimable - pinned))
        }
        untilMark = MemoryGauge.Reading(limit: limit, used: used).untilMark
        return true
    }
}

extension MemoryConstraint {
    /// A constraint but for its limit: what stays the same when a container is resized.
    struct Key: Hashable {
        var directory: String
        var isMachine: Bool
    }

    var key: Key {
        switch kind {
        case .cgroup(_, let directory): Key(directory: directory, isMachine: false)
        case .resource(let resource): Key(directory: resource.name, isMachine: false)
        case .machine: Key(directory: "", isMachine: true)
        }
    }
}
