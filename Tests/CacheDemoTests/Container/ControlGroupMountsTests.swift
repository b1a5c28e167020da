//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import cache_demo

@Suite struct ControlGroupMountsTests {
    typealias Place = ControlGroupMounts.Place

    private static let v1Mount = "36 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
    private static let v2Mount = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"

    @Test func `version 1: the own group first, then the root`() {
        let mounts = ControlGroupMounts(
            processGroups: "5:cpu:/\n4:memory:/jobs/7\n0::/\n",
            mounts: "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n\(Self.v1Mount)"
        )
        #expect(
            mounts.places == [
                Place(version: .v1, directory: "/sys/fs/cgroup/memory/jobs/7"),
                Place(version: .v1, directory: "/sys/fs/cgroup/memory"),
            ]
        )
    }

    @Test func `version 2: the own group, then each of its ancestors`() {
        let mounts = ControlGroupMounts(processGroups: "0::/user.slice/app.slice/x.scope", mounts: Self.v2Mount)
        let root = "/sys/fs/cgroup"
        #expect(
            mounts.places.map(\.directory) == [
                "\(root)/user.slice/app.slice/x.scope", "\(root)/user.slice/app.slice", "\(root)/user.slice", root,
            ]
        )
        #expect(mounts.places.allSatisfy { $0.version == .v2 })
    }

    @Test func `a hybrid machine: version 1 has the memory controller`() {
        let mounts = ControlGroupMounts(
            processGroups: "4:memory:/\n0::/\n",
            mounts: "\(Self.v1Mount)\n42 31 0:39 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
        )
        #expect(
            mounts.places == [
                Place(version: .v1, directory: "/sys/fs/cgroup/memory"),
                Place(version: .v2, directory: "/sys/fs/cgroup/unified"),
            ]
        )
    }

    @Test func `in a container the mount begins at the container's own group`() {
        let mounts = ControlGroupMounts(
            processGroups: "4:memory:/docker/abc/inner",
            mounts: "36 31 0:33 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory"
        )
        #expect(mounts.places.first?.directory == "/sys/fs/cgroup/memory/inner")
    }

    @Test func `a group outside of the namespace has no directory: the mount's own serves`() {
        let mounts = ControlGroupMounts(processGroups: "0::/../../elsewhere", mounts: Self.v2Mount)
        #expect(mounts.places.map(\.directory) == ["/sys/fs/cgroup"])
    }

    @Test(arguments: ["", "garbage", "0::", "::::", "4:memory"])
    func `nothing to be found is nowhere to try`(text: String) {
        #expect(ControlGroupMounts(processGroups: text, mounts: text).places.isEmpty)
    }
}
