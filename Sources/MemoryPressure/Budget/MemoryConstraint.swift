//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// One limit that binds this process, and where its use is to be read.
package struct MemoryConstraint: Sendable, Equatable {
    /// What sets the limit, and so what counts against it.
    package enum Kind: Sendable, Equatable {
        /// memory.max and memory.high, or memory.limit_in_bytes, of the cgroup at this directory.
        case cgroup(CgroupMembership.Version, directory: String)
        /// RLIMIT_AS, RLIMIT_DATA: what is mapped, touched or not, but for half of what lies free in the allocator's
        /// heap. That can be used again, and never leaves the address space.
        case resource(ResourceLimit)
        /// The machine's memory.
        case machine
    }

    /// A limit of setrlimit(2).
    package enum ResourceLimit: Sendable, CaseIterable {
        case addressSpace, data

        /// The beginning of its line in `/proc/self/limits`.
        var name: String {
            switch self {
            case .addressSpace: "Max address space"
            case .data: "Max data size"
            }
        }

        /// Which number of `/proc/self/statm` counts against it, in pages.
        var place: Int {
            switch self {
            case .addressSpace: 0
            case .data: 5
            }
        }
    }

    package var kind: Kind
    package var limit: Int

    /// All constraints that can be found: the process's own cgroup first, then its ancestors, then the rest.
    package static func all(_ files: SystemFiles) -> [MemoryConstraint] {
        let machine = machineMemory(files)
        var constraints: [MemoryConstraint] = []
        for membership in CgroupMembership.read(files) {
            for directory in membership.directories {
                guard let limit = cgroupLimit(membership.version, directory, files) else { continue }
                // What exceeds the machine is no limit, whatever it was meant to be.
                if let machine, limit >= machine { continue }
                constraints.append(.init(kind: .cgroup(membership.version, directory: directory), limit: limit))
            }
        }
        for resource in ResourceLimit.allCases {
            guard let limit = softLimit(resource, files) else { continue }
            constraints.append(.init(kind: .resource(resource), limit: limit))
        }
        if let machine { constraints.append(.init(kind: .machine, limit: machine)) }
        return constraints
    }

    /// What counts against the limit now, in bytes; nil where it cannot be read.
    package func used(_ files: SystemFiles) -> Int? {
        switch kind {
        case .cgroup(let version, let directory):
            guard let usage = files.text(version.usagePath(in: directory))?.byteCount else { return nil }
            let inactive = files.text(directory + "/memory.stat")?.number(after: version.inactiveFileName) ?? 0
            return max(0, usage - max(0, inactive))
        case .resource(let resource):
            let numbers = files.text("/proc/self/statm")?.split(separator: " ").dropFirst(resource.place)
            guard let pages = numbers?.first?.byteCount else { return nil }
            let mapped = pages.multipliedReportingOverflow(by: Platform.pageSize).partialValue
            return max(0, mapped - Self.usable(files.unusedHeapBytes()))
        case .machine:
            guard let available = files.text("/proc/meminfo")?.number(after: "MemAvailable:") else { return nil }
            return max(0, limit - max(0, available) * 1024)
        }
    }

    /// How much of `unused` bytes that lie free in the heap insertions are taken to fall into: half. The rest may lie in
    /// another thread's arena, or in pieces of other sizes.
    ///
    /// With all of it, 21 of 75 processes of one and two threads were refused memory that inserted values of 300 B to
    /// 64 KiB, and values whose sizes changed, below RLIMIT_DATA of 256 MiB or RLIMIT_AS of 1,024; with half, 3 of 75.
    /// One thread keeps as much readable; two keep a third less.
    static func usable(_ unused: Int) -> Int { unused / 2 }

    private static func machineMemory(_ files: SystemFiles) -> Int? {
        guard let kibibytes = files.text("/proc/meminfo")?.number(after: "MemTotal:"), kibibytes > 0 else { return nil }
        let (bytes, overflow) = kibibytes.multipliedReportingOverflow(by: 1024)
        return overflow ? nil : bytes
    }

    private static func cgroupLimit(
        _ version: CgroupMembership.Version,
        _ directory: String,
        _ files: SystemFiles
    ) -> Int? {
        switch version {
        case .v2:
            // memory.high throttles rather than kills, and a cache that works above it stands still.
            let limits = ["memory.max", "memory.high"].compactMap { files.text("\(directory)/\($0)")?.byteCount }
            return limits.min()
        case .v1:
            let own = files.text(directory + "/memory.limit_in_bytes")?.byteCount
            // The least of the ancestors too, even of those that a container cannot see.
            let hierarchical = files.text(directory + "/memory.stat")?.number(after: "hierarchical_memory_limit")
            return [own, hierarchical.flatMap { String($0).byteCount }].compactMap { $0 }.min()
        }
    }

    /// The soft limit in `/proc/self/limits`.
    private static func softLimit(_ resource: ResourceLimit, _ files: SystemFiles) -> Int? {
        let name = resource.name
        for line in (files.text("/proc/self/limits") ?? "").split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).split(separator: " ").first?.byteCount
        }
        return nil
    }
}

extension CgroupMembership.Version {
    /// The file that says how many bytes are charged.
    package func usagePath(in directory: String) -> String {
        directory + (self == .v1 ? "/memory.usage_in_bytes" : "/memory.current")
    }

    /// The line of memory.stat that says how much of that is inactive file pages, descendants included: page cache
    /// that is not in use, and lazily freed pages.
    package var inactiveFileName: String { self == .v1 ? "total_inactive_file" : "inactive_file" }
}
