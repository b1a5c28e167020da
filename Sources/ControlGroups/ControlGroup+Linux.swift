//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// A memory cgroup that this program makes, version 1 or 2: for one run of the demo, or for one test.
///
/// Every path of the kernel's interface that is written is named in this file (cgroup-v1/memory.rst and cgroup-v2.rst
/// of the kernel's documentation). It compiles for Apple's systems too, where nothing can be made.
package struct ControlGroup: Sendable, Codable {
    package let directory: String
    package let isVersion1: Bool

    /// What the kernel did not let us do.
    package struct Refused: Error, CustomStringConvertible {
        package var description: String

        package init(doing what: String, code: Int32 = errno) {
            description = "\(String(cString: strerror(code))): \(what)"
        }
    }

    /// The group whose files are in `directory`, which need not be there yet.
    package init(directory: String, isVersion1: Bool) {
        self.directory = directory
        self.isVersion1 = isVersion1
    }

    /// Lets groups below `directory` have memory limits (version 2, "subtree control"), and returns whether they could
    /// not before. The kernel refuses it where the group holds processes itself.
    package static func delegateMemory(below directory: String) throws -> Bool {
        let control = subtreeControl(of: directory)
        if SystemFiles.system.text(control)?.contains("memory") == true { return false }
        try write("+memory", to: control)
        return true
    }

    /// Takes ``delegateMemory(below:)`` back.
    package static func withdrawMemory(below directory: String) {
        try? write("-memory", to: subtreeControl(of: directory))
    }

    private static func subtreeControl(of directory: String) -> String { directory + "/cgroup.subtree_control" }

    /// Makes the group, with a limit of `limit` bytes and from `high` bytes on slowed down, where they are given.
    ///
    /// - Throws: `Refused`, with nothing left behind, where this process may not.
    package func make(limit: Int?, high: Int? = nil) throws {
        guard mkdir(directory, 0o755) == 0 else { throw Refused(doing: "mkdir \(directory)") }
        do {
            if let limit { try setLimit(limit) }
            if let high { try Self.write("\(high)", to: directory + "/memory.high") }
        } catch {
            rmdir(directory)
            throw error
        }
    }

    /// Limits memory to `limit` bytes, and swap to none, so that the limit is one of memory. Where the kernel does not
    /// account for swap there is no such file; in version 1 it may refuse a limit that it cannot reclaim down to.
    package func setLimit(_ limit: Int) throws {
        let swap = directory + (isVersion1 ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max")
        let swapLimit = "\(isVersion1 ? limit : 0)"
        // Memory and swap together may not be less than memory: whichever way the limit moves, one order fits.
        try? Self.write(swapLimit, to: swap)
        try Self.write("\(limit)", to: directory + (isVersion1 ? "/memory.limit_in_bytes" : "/memory.max"))
        if isVersion1 { try? Self.write(swapLimit, to: swap) }
    }

    /// Moves process `pid` in; what it allocates from now on is charged here.
    package func admit(_ pid: pid_t) throws { try Self.write("\(pid)", to: directory + "/cgroup.procs") }

    /// Bytes charged to the group, page cache included.
    package var usage: Int? { number(isVersion1 ? "memory.usage_in_bytes" : "memory.current") }

    /// The most bytes that were ever charged to it, nil where the kernel does not keep count (version 2 before Linux
    /// 5.19).
    package var peak: Int? { number(isVersion1 ? "memory.max_usage_in_bytes" : "memory.peak") }

    /// How many processes the kernel has killed in here for want of memory.
    package var outOfMemoryKills: Int {
        let text = SystemFiles.system.text(directory + (isVersion1 ? "/memory.oom_control" : "/memory.events")) ?? ""
        let count = text.split(separator: "\n").first { $0.hasPrefix("oom_kill ") }?.dropFirst("oom_kill ".count)
        return count.flatMap { Int($0) } ?? 0
    }

    private func number(_ file: String) -> Int? {
        SystemFiles.system.text(directory + "/" + file)?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }

    /// Removes the group, and with `killing` what still runs in it. It stays busy for a moment after its last process
    /// died; where it is busy for longer than two seconds, or may not be removed, it stays, and false is returned.
    @discardableResult
    package func remove(killing: Bool = false) -> Bool {
        for _ in 0..<400 {
            if rmdir(directory) == 0 || errno == ENOENT { return true }
            if errno != EBUSY { return false }
            if killing {
                let processes = SystemFiles.system.text(directory + "/cgroup.procs") ?? ""
                for process in processes.split(separator: "\n").compactMap({ pid_t($0) }) where process != getpid() {
                    kill(process, SIGKILL)
                }
            }
            usleep(5_000)
        }
        return false
    }

    /// Writes a file of the kernel's, with one system call as the kernel wants it.
    package static func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw Refused(doing: "open \(path)") }
        defer { close(file) }
        guard systemWrite(file, text, text.utf8.count) == text.utf8.count else {
            throw Refused(doing: "write \(text) to \(path)")
        }
    }
}

private let systemWrite: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { write($0, $1!, $2) }
