//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc

/// What holds the runs' memory down: a cgroup of their own each, or, where none may be made, whatever is in force.
enum Confinement: Sendable {
    /// Groups can be made in `place`, each with a limit of `limit` bytes.
    case groups(in: ControlGroupMounts.Place, limit: Int)
    /// No group can be made, for `reason`; the pressure signal has to be given by hand.
    case none(reason: String)

    /// Finds the nearest place where a group can be made and a process moved into it, by doing so once.
    static func find(limit: Int) -> Confinement {
        guard let processGroups = KernelFile.read("/proc/self/cgroup"),
            let mounts = KernelFile.read("/proc/self/mountinfo")
        else { return .none(reason: "/proc tells of no cgroups") }
        let places = ControlGroupMounts(processGroups: processGroups, mounts: mounts).places
        var reason = "no memory cgroups are mounted"
        for place in places {
            do {
                if place.version == .v2 { try delegateMemory(in: place.directory) }
                try probe(place, limit: limit)
                return .groups(in: place, limit: limit)
            } catch {
                // The first refusal is the telling one: it comes from our own group.
                if place == places.first { reason = "\(error)" }
            }
        }
        return .none(reason: reason)
    }

    /// Makes a group for one run.
    func makeGroup(_ name: String) throws -> ControlGroup? {
        guard case .groups(let place, let limit) = self else { return nil }
        return try LiveThings.shared.makeGroup {
            try ControlGroup(name: Self.prefix + "\(getpid())-\(name)", in: place, limit: limit)
        }
    }

    private static let prefix = "cache-demo-"

    private static func probe(_ place: ControlGroupMounts.Place, limit: Int) throws {
        removeOrphans(in: place)
        let group = try LiveThings.shared.makeGroup {
            try ControlGroup(name: prefix + "\(getpid())-probe", in: place, limit: limit)
        }
        defer { LiveThings.shared.remove(group: group) }
        let child = try ChildProcess(arguments: [ChildOrder.argument, try ChildOrder.probe(group).encoded()])
        while child.end == nil { usleep(1_000) }
        guard child.end == .exited(0) else {
            throw ControlGroup.Refused(doing: "move a process into \(group.directory)", code: EPERM)
        }
    }

    /// Removes groups of earlier runs whose process was killed before it could; a busy group stays.
    private static func removeOrphans(in place: ControlGroupMounts.Place) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place.directory)) ?? []
        for name in names where name.hasPrefix(prefix) {
            guard let owner = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }), owner != getpid(),
                kill(owner, 0) != 0 && errno == ESRCH
            else { continue }
            rmdir(place.directory + "/" + name)
        }
    }

    /// Lets groups below `directory` have memory limits (cgroup v2, "subtree control").
    private static func delegateMemory(in directory: String) throws {
        let control = directory + "/cgroup.subtree_control"
        func has(_ file: String) -> Bool {
            (KernelFile.read(directory + "/" + file) ?? "").split(whereSeparator: \.isWhitespace).contains("memory")
        }
        if has("cgroup.subtree_control") { return }
        guard has("cgroup.controllers") else {
            throw ControlGroup.Refused(doing: "no memory controller in \(directory)", code: ENODEV)
        }
        do {
            try KernelFile.write("+memory", to: control)
            LiveThings.shared.add(undo: { try? KernelFile.write("-memory", to: control) })
        } catch {
            try stepAside(from: directory, control: control)
        }
    }

    /// A group with processes in it cannot delegate ("no internal processes"). Where the only one is this process, as
    /// in a systemd scope of its own, it steps into a group below for the time of the demo.
    private static func stepAside(from directory: String, control: String) throws {
        let inside = (KernelFile.read(directory + "/cgroup.procs") ?? "").split(separator: "\n")
        guard inside == ["\(getpid())"] else {
            throw ControlGroup.Refused(
                doing: "delegate memory below \(directory), which holds other processes",
                code: EBUSY
            )
        }
        let aside = ControlGroup(version: .v2, directory: directory + "/" + prefix + "\(getpid())-parent")
        guard mkdir(aside.directory, 0o755) == 0 else { throw ControlGroup.Refused(doing: "mkdir \(aside.directory)") }
        let back: @Sendable () -> Void = {
            try? KernelFile.write("-memory", to: control)
            try? ControlGroup(version: .v2, directory: directory).admit(getpid())
            aside.remove()
        }
        do {
            try aside.admit(getpid())
            try KernelFile.write("+memory", to: control)
            LiveThings.shared.add(undo: back)
        } catch {
            back()
            throw error
        }
    }
}
