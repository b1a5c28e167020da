//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import Foundation
import Testing

/// Against a directory of plain files, laid out as the kernel does.
@Suite struct ControlGroupTests {
    private func withGroup(
        isVersion1: Bool,
        files: [String: String],
        _ body: (ControlGroup, URL) throws -> Void
    ) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "cache-demo-test-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, text) in files { try Data(text.utf8).write(to: directory.appending(path: name)) }
        try body(ControlGroup(directory: directory.path, isVersion1: isVersion1), directory)
    }

    private func read(_ directory: URL, _ name: String) throws -> String {
        String(decoding: try Data(contentsOf: directory.appending(path: name)), as: UTF8.self)
    }

    @Test func `version 2: limits memory, and swap to none`() throws {
        let files = ["memory.max": "", "memory.swap.max": "", "cgroup.procs": ""]
        try withGroup(isVersion1: false, files: files) { group, directory in
            try group.setLimit(1 << 28)
            try group.admit(123)
            #expect(try read(directory, "memory.max") == "268435456")
            #expect(try read(directory, "memory.swap.max") == "0")
            #expect(try read(directory, "cgroup.procs") == "123")
        }
    }

    @Test func `version 1: limits memory, also where the kernel does not account for swap`() throws {
        try withGroup(isVersion1: true, files: ["memory.limit_in_bytes": ""]) { group, directory in
            try group.setLimit(1 << 28)
            #expect(try read(directory, "memory.limit_in_bytes") == "268435456")
        }
    }

    @Test func `figures of both versions`() throws {
        let v1 = ["memory.usage_in_bytes": "4096\n", "memory.max_usage_in_bytes": "8192\n"]
        try withGroup(isVersion1: true, files: v1) { group, _ in
            #expect(group.usage == 4096)
            #expect(group.peak == 8192)
        }
        try withGroup(isVersion1: false, files: ["memory.current": "4096\n"]) { group, _ in
            #expect(group.usage == 4096)
            #expect(group.peak == nil)
        }
    }

    @Test func `a group that cannot be limited is refused and not left behind`() throws {
        // A plain directory has no memory.max to write.
        let directory = FileManager.default.temporaryDirectory.path + "/cache-demo-test-\(UUID())"
        #expect(throws: ControlGroup.Refused.self) {
            try ControlGroup(directory: directory, isVersion1: false).make(limit: 1)
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
