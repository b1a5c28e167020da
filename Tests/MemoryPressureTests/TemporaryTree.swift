//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure

/// A directory that stands in the system's place and may be changed while it is being read.
final class TemporaryTree: Sendable {
    let root: String

    init() throws {
        root = NSTemporaryDirectory() + "pressure-tree-\(ProcessInfo.processInfo.processIdentifier)-\(UUID())"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    deinit { remove() }

    var files: SystemFiles { SystemFiles(root: root) }

    func files(environment: [String: String]) -> SystemFiles { SystemFiles(root: root) { environment[$0] } }

    /// Writes in place, as the kernel's files change: whoever has the file open sees it.
    func write(_ text: String, _ path: String) throws {
        let url = URL(fileURLWithPath: root + "/" + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        if !FileManager.default.fileExists(atPath: url.path) { try Data().write(to: url) }
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    func delete(_ path: String) throws { try FileManager.default.removeItem(atPath: root + "/" + path) }

    /// A process in the version 2 cgroup at `path`, on a machine of 16 GiB.
    func writeCgroupV2(path: String) throws {
        try write("0::\(path)\n", "proc/self/cgroup")
        try write("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "proc/self/mountinfo")
        try write("MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\n", "proc/meminfo")
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }
}
