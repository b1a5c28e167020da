//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Glibc
import MemoryPressure

/// A memory cgroup of our own, version 1 or 2, made for one run and removed after it.
///
/// Every path of the kernel's interface that the demo writes is named in this file (cgroup-v1/memory.rst and
/// cgroup-v2.rst of the kernel's documentation).
struct ControlGroup: Sendable, Codable {
    let directory: String
    let isVersion1: Bool

    /// What the kernel did not let us do.
    struct Refused: Error, CustomStringConvertible {
        var description: String

        init(doing what: String, code: Int32 = errno) { description = "\(String(cString: strerror(code))): \(what)" }
    }

    /// Makes the group with a limit of `limit` bytes.
    ///
    /// - Throws: `Refused`, with nothing left behind, where this process may not.
    func make(limit: Int) throws {
        guard mkdir(directory, 0o755) == 0 else { throw Refused(doing: "mkdir \(directory)") }
        do { try setLimit(limit) } catch {
            rmdir(directory)
            throw error
        }
    }

    /// Limits memory to `limit` bytes, and swap to none, so that the limit is one of memory. Where the kernel does not
    /// account for swap there is no such file.
    func setLimit(_ limit: Int) throws {
        try Self.write("\(limit)", to: directory + (isVersion1 ? "/memory.limit_in_bytes" : "/memory.max"))
        let swap = directory + (isVersion1 ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max")
        try? Self.write("\(isVersion1 ? limit : 0)", to: swap)
    }

    /// Moves process `pid` in.
    func admit(_ pid: pid_t) throws { try Self.write("\(pid)", to: directory + "/cgroup.procs") }

    /// Bytes charged to the group, page cache included.
    var usage: Int? { number(isVersion1 ? "memory.usage_in_bytes" : "memory.current") }

    /// The most bytes that were ever charged to it, nil where the kernel does not keep count.
    var peak: Int? { number(isVersion1 ? "memory.max_usage_in_bytes" : "memory.peak") }

    private func number(_ file: String) -> Int? {
        SystemFiles.system.text(directory + "/" + file)?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }

    /// Removes the group. It stays busy for a moment after its last process died; a group that is busy for longer than
    /// two seconds stays.
    func remove() {
        for _ in 0..<400 {
            guard rmdir(directory) != 0, errno == EBUSY else { return }
            usleep(5_000)
        }
    }

    /// Writes a file of the kernel's, with one system call as the kernel wants it.
    static func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw Refused(doing: "open \(path)") }
        defer { close(file) }
        guard Glibc.write(file, text, text.utf8.count) == text.utf8.count else {
            throw Refused(doing: "write \(text) to \(path)")
        }
    }
}
