//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where the kernel keeps memory cgroups, and which of them this process is in.
///
/// Pure: it reads the text of `/proc/self/cgroup` and `/proc/self/mountinfo` (cgroups(7), proc(5)), so that every
/// layout can be tested anywhere.
struct ControlGroupMounts: Equatable {
    enum Version: String, Codable, Sendable { case v1, v2 }

    /// A directory in which a memory cgroup of our own might be made.
    struct Place: Equatable {
        var version: Version
        var directory: String
    }

    /// Places to try, the nearest to this process first, so that the limits already in force stay in force.
    private(set) var places: [Place] = []

    init(processGroups: String, mounts: String) {
        let mounted = mounts.split(separator: "\n").compactMap(Mount.init)
        let groups = processGroups.split(separator: "\n").compactMap(Membership.init)
        if let mount = mounted.first(where: { $0.type == "cgroup" && $0.superOptions.contains("memory") }),
            let own = groups.first(where: { $0.controllers.contains("memory") })
        {
            let directory = mount.directory(of: own.path)
            places.append(Place(version: .v1, directory: directory))
            if directory != mount.point { places.append(Place(version: .v1, directory: mount.point)) }
        }
        if let mount = mounted.first(where: { $0.type == "cgroup2" }),
            let own = groups.first(where: { $0.controllers.isEmpty })
        {
            // Own group first, then its ancestors: a process may only be moved below a group that it may write to.
            var directory = mount.directory(of: own.path)
            while true {
                places.append(Place(version: .v2, directory: directory))
                guard directory != mount.point, let slash = directory.lastIndex(of: "/") else { break }
                directory = String(directory[..<slash])
            }
        }
    }

    /// One line of `/proc/self/cgroup`: `id:controllers:path`.
    private struct Membership {
        var controllers: [Substring]
        var path: Substring

        init?(_ line: Substring) {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return nil }
            controllers = fields[1].split(separator: ",")
            path = fields[2]
        }
    }

    /// One line of `/proc/self/mountinfo`.
    private struct Mount {
        var root: Substring
        var point: String
        var type: Substring
        var superOptions: [Substring]

        init?(_ line: Substring) {
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 3 else { return nil }
            root = fields[3]
            point = String(fields[4])
            type = fields[dash + 1]
            superOptions = fields[dash + 3].split(separator: ",")
        }

        /// The directory under the mount point that stands for the group `path` of the hierarchy.
        func directory(of path: Substring) -> String {
            // In a container the mount shows the hierarchy from `root` down.
            var path = path
            if root != "/", path == root || path.hasPrefix("\(root)/") { path = path.dropFirst(root.count) }
            // A path out of the container's cgroup namespace ("/../…") has no directory here.
            if path.hasPrefix("/..") || path == "/" { path = "" }
            return point + path
        }
    }
}
