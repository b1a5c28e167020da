//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

@testable import cache_demo

/// Against a directory of plain files, laid out as the kernel does.
@Suite struct ControlGroupTests {
    private func withGroup(
        _ version: ControlGroupMounts.Version,
        files: [String: String],
        _ body: (ControlGroup, URL) throws -> Void
    ) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "cache-demo-test-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, text) in files { try Data(text.utf8).write(to: directory.appending(path: name)) }
        try body(ControlGroup(version: version, directory: directory.path), directory)
    }

    private func read(_ directory: URL, _ name: String) throws -> String {
        String(decoding: try Data(contentsOf: directory.appending(path: name)), as: UTF8.self)
    }

    @Test func `version 2: limits memory, and swap to none`() throws {
        try withGroup(.v2, files: ["memory.max": "", "memory.swap.max": "", "cgroup.procs": ""]) { group, directory in
            try group.setLimit(1 << 28)
            try group.admit(123)
            #expect(try read(directory, "memory.max") == "268435456")
            #expect(try read(directory, "memory.swap.max") == "0")
            #expect(try read(directory, "cgroup.procs") == "123")
        }
    }

    @Test func `version 1: limits memory, also where the kernel does not account for swap`() throws {
        try withGroup(.v1, files: ["memory.limit_in_bytes": ""]) { group, directory in
            try group.setLimit(1 << 28)
            #expect(try read(directory, "memory.limit_in_bytes") == "268435456")
        }
    }

    @Test func `figures of both versions`() throws {
        let v1 = [
            "memory.usage_in_bytes": "4096\n", "memory.max_usage_in_bytes": "8192\n",
            "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        ]
        try withGroup(.v1, files: v1) { group, _ in
            #expect(group.usage == 4096)
            #expect(group.peak == 8192)
            #expect(group.kills == 3)
        }
        let v2 = [
            "memory.current": "4096\n", "memory.max": "max\n",
            "memory.events": "low 0\nhigh 1\nmax 2\noom 1\noom_kill 1\n",
        ]
        try withGroup(.v2, files: v2) { group, _ in
            #expect(group.usage == 4096)
            #expect(group.limit == nil)
            #expect(group.peak == nil)
            #expect(group.kills == 1)
        }
    }

    @Test func `a group that cannot be limited is refused and not left behind`() throws {
        let directory = FileManager.default.temporaryDirectory.path
        let name = "cache-demo-test-\(UUID())"
        // A plain directory has no memory.max to write.
        #expect(throws: ControlGroup.Refused.self) {
            try ControlGroup(name: name, in: .init(version: .v2, directory: directory), limit: 1)
        }
        #expect(!FileManager.default.fileExists(atPath: "\(directory)/\(name)"))
    }
}
