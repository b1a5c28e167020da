//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import Foundation
import Glibc
import MemoryPressure

/// What holds the runs' memory down: a cgroup of their own each, or, where none may be made, whatever is in force.
enum Confinement: Sendable {
    /// Groups can be made below `directory`.
    case groups(below: String, isVersion1: Bool)
    /// No group can be made, for `reason`; the demo then warns its runs of pressure itself.
    case none(reason: String)

    /// Finds the nearest place where a group can be made and a process moved into it, by doing so once.
    static func find() async -> Confinement {
        var reasons: [String] = []
        for membership in CgroupMembership.read(.system) {
            let isVersion1 = membership.version == .v1
            for directory in membership.directories {
                do {
                    if !isVersion1, try ControlGroup.delegateMemory(below: directory) {
                        Cleanup.add(undo: { ControlGroup.withdrawMemory(below: directory) })
                    }
                    for orphan in Cleanup.orphans(in: directory) {
                        ControlGroup(directory: orphan, isVersion1: isVersion1).remove()
                    }
                    let place = Confinement.groups(below: directory, isVersion1: isVersion1)
                    if let group = try place.makeGroup("probe", limit: 1 << 30) {
                        defer { group.remove() }
                        try await probe(group)
                    }
                    return place
                } catch {
                    reasons.append("\(error)")
                }
            }
        }
        // The first refusal is the telling one: it comes from our own group.
        return .none(reason: reasons.first ?? "no memory cgroups are mounted")
    }

    /// Makes a group for one run; nil where none can be made.
    func makeGroup(_ name: String, limit: Int) throws -> ControlGroup? {
        guard case .groups(let directory, let isVersion1) = self else { return nil }
        let path = "\(directory)/\(Cleanup.prefix)\(getpid())-\(name)"
        let group = ControlGroup(directory: path, isVersion1: isVersion1)
        try Cleanup.make(group, limit: limit)
        return group
    }

    private static func probe(_ group: ControlGroup) async throws {
        let child = try ChildProcess(.neighbour(group: group, bytes: 0))
        child.closeInput()
        for await _ in child.lines {}
        guard child.end == .survived else {
            throw ControlGroup.Refused(doing: "move a process into \(group.directory)", code: EPERM)
        }
    }
}
