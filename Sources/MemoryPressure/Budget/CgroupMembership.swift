//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where in the cgroup tree this process sits, as a chain of directories from its own up to the highest one it can see.
///
/// Read from `/proc/self/cgroup` (which cgroup) and `/proc/self/mountinfo` (where, and from which root, the hierarchy
/// is mounted). The two must be read together: inside a container without a cgroup namespace the first names the
/// host's path while the mount shows only the container's own part of the tree; inside a namespace both begin at the
/// container. What the process cannot see it cannot read, but version 1 says the least limit of all ancestors in
/// `memory.stat`, seen or not.
///
/// - SeeAlso: cgroups(7), cgroup_namespaces(7), proc_pid_mountinfo(5).
package struct CgroupMembership: Sendable, Equatable {
    package enum Version: Sendable { case v1, v2 }

    package var version: Version

    /// Directories, the process's own first, each the parent of the one before.
    package var directories: [String]

    /// The memberships that have a memory controller. Both versions in a hybrid tree; none on a system without.
    package static func read(_ files: SystemFiles) -> [CgroupMembership] {
        let mounts = (files.text("/proc/self/mountinfo") ?? "").split(separator: "\n").compactMap(Mount.init)
        var memberships: [CgroupMembership] = []
        for line in (files.text("/proc/self/cgroup") ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isUnified = fields[0] == "0" && fields[1].isEmpty
            guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
            let version: Version = isUnified ? .v2 : .v1
            guard let mount = mounts.last(where: { $0.version == version }) else { continue }
            let own = mount.directory(ofCgroup: String(fields[2]), files)
            var chain = [own]
            while chain[chain.count - 1].utf8.count > mount.point.utf8.count {
                chain.append(chain[chain.count - 1].parentDirectory)
            }
            memberships.append(CgroupMembership(version: version, directories: chain))
        }
        return memberships
    }
}

/// One line of `/proc/self/mountinfo` that mounts a cgroup hierarchy with memory in it.
private struct Mount {
    var version: CgroupMembership.Version
    var root: String
    var point: String

    init?(_ line: Substring) {
        // 36 35 98:0 /root /mount/point rw,noatime master:1 - fstype source super,options
        let fields = line.split(separator: " ")
        guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 3 else { return nil }
        switch fields[dash + 1] {
        case "cgroup2": version = .v2
        case "cgroup" where fields[dash + 3].split(separator: ",").contains("memory"): version = .v1
        default: return nil
        }
        root = fields[3].withoutMountEscapes
        point = fields[4].withoutMountEscapes
    }

    /// The directory that shows `cgroup`, or the nearest ancestor that there is.
    func directory(ofCgroup cgroup: String, _ files: SystemFiles) -> String {
        var path = cgroup
        if root != "/" {
            guard path == root || path.hasPrefix(root + "/") else { return point }
            path.removeFirst(root.utf8.count)
        }
        // Outside its own namespace's root (moved there after the namespace was made): nothing below says more.
        guard !path.split(separator: "/").contains("..") else { return point }
        while path.hasSuffix("/") { path.removeLast() }
        while !path.isEmpty, !files.hasDirectory(point + path) { path = path.parentDirectory }
        return point + path
    }
}

extension String {
    /// The path without its last component; empty above the first.
    fileprivate var parentDirectory: String {
        guard let slash = lastIndex(of: "/") else { return "" }
        return String(self[..<slash])
    }
}

extension Substring {
    /// With mountinfo's octal escapes (of blank, tab, newline and backslash) put back.
    fileprivate var withoutMountEscapes: String {
        guard contains("\\") else { return String(self) }
        var bytes: [UInt8] = []
        var rest = self.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let code = UInt8(String(Substring(rest.prefix(3))), radix: 8) {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
