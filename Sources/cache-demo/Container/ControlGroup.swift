//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Glibc

/// A memory cgroup of our own, version 1 or 2, made for one run and removed after it.
///
/// Every path of the kernel's interface that the demo touches is named in this file (cgroup-v1/memory.rst and
/// cgroup-v2.rst of the kernel's documentation).
struct ControlGroup: Sendable, Codable, Equatable {
    var version: ControlGroupMounts.Version
    var directory: String

    /// Makes `name` in `place` with a limit of `limit` bytes.
    ///
    /// - Throws: `Refused`, with nothing left behind, where this process may not.
    init(name: String, in place: ControlGroupMounts.Place, limit: Int) throws {
        version = place.version
        directory = place.directory + "/" + name
        guard mkdir(directory, 0o755) == 0 else { throw Refused(doing: "mkdir \(directory)") }
        do { try setLimit(limit) } catch {
            rmdir(directory)
            throw error
        }
    }

    /// The group in `directory`, which is there already.
    init(version: ControlGroupMounts.Version, directory: String) {
        self.version = version
        self.directory = directory
    }

    /// What the kernel did not let us do.
    struct Refused: Error, CustomStringConvertible {
        var description: String

        init(doing what: String, code: Int32 = errno) { description = "\(what): \(String(cString: strerror(code)))" }
    }

    /// Limits memory to `limit` bytes, and swap to none, so that the limit is one of memory.
    func setLimit(_ limit: Int) throws {
        switch version {
        case .v1:
            try write("\(limit)", to: "memory.limit_in_bytes")
            try? write("\(limit)", to: "memory.memsw.limit_in_bytes")
        case .v2:
            try write("\(limit)", to: "memory.max")
            try? write("0", to: "memory.swap.max")
        }
    }

    /// Moves process `pid` in.
    func admit(_ pid: pid_t) throws { try write("\(pid)", to: "cgroup.procs") }

    /// Bytes charged to the group, page cache included.
    var usage: Int? { read(version == .v1 ? "memory.usage_in_bytes" : "memory.current").flatMap { Int(trimming: $0) } }

    /// The most bytes that were ever charged to it, nil where the kernel does not keep count.
    var peak: Int? {
        read(version == .v1 ? "memory.max_usage_in_bytes" : "memory.peak").flatMap { Int(trimming: $0) }
    }

    /// The limit in force, nil where there is none.
    var limit: Int? {
        read(version == .v1 ? "memory.limit_in_bytes" : "memory.max").flatMap { Int(trimming: $0) }
    }

    /// How many processes of the group the kernel has killed for want of memory.
    var kills: Int {
        let text = read(version == .v1 ? "memory.oom_control" : "memory.events") ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("oom_kill ") {
            return Int(line.dropFirst("oom_kill ".count)) ?? 0
        }
        return 0
    }

    /// Removes the group; true once it is gone. A group stays busy for a moment after its last process died.
    @discardableResult
    func remove() -> Bool {
        for _ in 0..<400 {
            if rmdir(directory) == 0 || errno == ENOENT { return true }
            guard errno == EBUSY else { return false }
            usleep(5_000)
        }
        return false
    }

    private func write(_ text: String, to file: String) throws {
        try KernelFile.write(text, to: directory + "/" + file)
    }

    private func read(_ file: String) -> String? { KernelFile.read(directory + "/" + file) }
}

/// Files of the kernel's, read and written whole, with one system call each as the kernel wants it.
enum KernelFile {
    static func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw ControlGroup.Refused(doing: "open \(path)") }
        defer { close(file) }
        guard Glibc.write(file, text, text.utf8.count) == text.utf8.count else {
            throw ControlGroup.Refused(doing: "write \(text) to \(path)")
        }
    }

    static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text: [UInt8] = []
        while true {
            // Files of /proc have no size: read until nothing comes.
            let chunk = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
                count = max(0, Glibc.read(file, buffer.baseAddress!, buffer.count))
            }
            if chunk.isEmpty { break }
            text += chunk
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension Int {
    /// The number that `text` holds beside white space.
    init?(trimming text: String) {
        guard let number = Int(text.split(whereSeparator: \.isWhitespace).first ?? "") else { return nil }
        self = number
    }
}
