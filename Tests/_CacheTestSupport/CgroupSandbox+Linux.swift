//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import MemoryPressure

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A memory cgroup of one's own, to be filled until somebody is killed: version 1 or 2, whichever the machine has.
///
/// A cgroup holds whole processes, so what is to be confined runs in a child: either a program (``run(_:_:)``) or an
/// exit test that begins with ``enter(_:)``:
/// ```swift
/// @Test(.enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup")) func survives() async throws {
///     let sandbox = try CgroupSandbox(limitBytes: 256 << 20)
///     defer { sandbox.remove() }
///     await #expect(processExitsWith: .success) { [directory = sandbox.directory as String] in
///         try CgroupSandbox.enter(directory)
///         …
///     }
///     #expect(sandbox.outOfMemoryKills == 0)
/// }
/// ```
/// The cgroup is removed by ``remove()`` or with the last reference, together with whatever still runs in it.
public final class CgroupSandbox: Sendable {
    private let group: ControlGroup

    /// Where the cgroup lives.
    public var directory: String { group.directory }

    /// Whether cgroups with a memory limit can be made here: root, or a delegated tree, on Linux. Tried once.
    public static let isAvailable: Bool = {
        do {
            let probe = try CgroupSandbox(limitBytes: 64 << 20)
            probe.remove()
            return true
        } catch {
            print("SKIPPED: tests in real cgroups cannot run here: \(error)")
            return false
        }
    }()

    /// Makes a cgroup that kills beyond `limitBytes`, without swap, below `parent` or at the root of the hierarchy.
    ///
    /// `highBytes` is memory.high and needs version 2.
    public init(limitBytes: Int?, highBytes: Int? = nil, below parent: CgroupSandbox? = nil) throws {
        let (root, version) = try Self.hierarchy()
        let place = parent?.directory ?? root
        if version == .v2 { _ = try ControlGroup.delegateMemory(below: place) }
        group = ControlGroup(
            directory: "\(place)/cache-test-\(getpid())-\(UInt32.random(in: .min ... .max))",
            isVersion1: version == .v1
        )
        try group.make(limit: limitBytes, high: highBytes)
    }

    deinit { remove() }

    /// Changes the limit; the kernel may refuse one that it cannot reclaim down to (version 1).
    public func setLimit(_ bytes: Int) throws { try group.setLimit(bytes) }

    /// Moves the calling process into the cgroup at `directory`; what it allocates from now on is charged there.
    public static func enter(_ directory: String) throws {
        // Processes are admitted alike in both versions.
        try ControlGroup(directory: directory, isVersion1: true).admit(getpid())
    }

    /// Moves this process out again, to the root of the hierarchy.
    public static func leave() throws { try enter(try hierarchy().root) }

    /// Bytes charged now.
    public var usageBytes: Int { group.usage ?? 0 }

    /// The most bytes that were ever charged, where the kernel says (version 2: from Linux 5.19).
    public var peakBytes: Int? { group.peak }

    /// How many processes the kernel has killed in here for want of memory.
    public var outOfMemoryKills: Int { group.outOfMemoryKills }

    /// Kills what still runs in here and removes the cgroup; a second call does nothing.
    public func remove() {
        if !group.remove(killing: true) { print("CgroupSandbox: \(directory) could not be removed: errno \(errno)") }
    }

    /// The root, as far as this process sees it, of the hierarchy that has the memory controller.
    private static func hierarchy() throws -> (root: String, version: CgroupMembership.Version) {
        for membership in CgroupMembership.read(.system) {
            let root = membership.directories[membership.directories.count - 1]
            if membership.version == .v1 { return (root, .v1) }
            let controllers = SystemFiles.system.text(root + "/cgroup.controllers") ?? ""
            if controllers.split(whereSeparator: \.isWhitespace).contains("memory") { return (root, .v2) }
        }
        throw ControlGroup.Refused(doing: "find a memory controller in /proc/self/cgroup", code: ENOENT)
    }
}
