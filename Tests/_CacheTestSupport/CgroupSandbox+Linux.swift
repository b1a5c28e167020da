//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

package import MemoryPressure

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A memory cgroup of one's own, to be filled until somebody is killed: version 1 or 2, whichever the machine has.
///
/// A cgroup holds whole processes, so what is to be confined runs in a child: either a program (``run(_:_:)``) or an
/// exit test that begins with ``enter(_:)``:
/// ```swift
/// @Test(.enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup")) func survives() async throws {
///     let sandbox = try CgroupSandbox(limitBytes: 256 << 20)
///     defer { sandbox.remove() }
///     await #expect(processExitsWith: .success) { [directory = sandbox.directory as String] in
///         try CgroupSandbox.enter(directory)
///         …
///     }
///     #expect(sandbox.outOfMemoryKills == 0)
/// }
/// ```
/// The cgroup is removed by ``remove()`` or with the last reference, together with whatever still runs in it.
public final class CgroupSandbox: Sendable {
    /// What went wrong: the call, the file and the error number.
    public struct Failure: Error, CustomStringConvertible {
        /// The story in words.
        public let description: String
    }

    /// Where the cgroup lives.
    public let directory: String

    /// Which interface it has.
    package let version: CgroupMembership.Version

    /// Whether cgroups with a memory limit can be made here: root, or a delegated tree, on Linux. Tried once.
    public static let isAvailable: Bool = {
        do {
            let probe = try CgroupSandbox(limitBytes: 64 << 20)
            probe.remove()
            return true
        } catch {
            print("SKIPPED: tests in real cgroups cannot run here: \(error)")
            return false
        }
    }()

    /// Makes a cgroup that kills beyond `limitBytes`, without swap, below `parent` or at the root of the hierarchy.
    ///
    /// `highBytes` is memory.high and needs version 2.
    public init(limitBytes: Int?, highBytes: Int? = nil, below parent: CgroupSandbox? = nil) throws {
        let (root, version) = try Self.hierarchy()
        if version == .v2 {
            try Self.write("+memory", to: (parent?.directory ?? root) + "/cgroup.subtree_control")
        }
        let suffix = UInt32.random(in: .min ... .max)
        directory = "\(parent?.directory ?? root)/cache-test-\(getpid())-\(suffix)"
        self.version = version
        guard mkdir(directory, 0o755) == 0 else { throw Failure("mkdir", directory) }
        do {
            if let limitBytes { try setLimit(limitBytes) }
            if let highBytes {
                guard version == .v2 else { throw Failure(description: "memory.high needs version 2") }
                try Self.write("\(highBytes)", to: directory + "/memory.high")
            }
        } catch {
            rmdir(directory)
            throw error
        }
    }

    deinit { remove() }

    /// Changes the limit; the kernel may refuse one that it cannot reclaim down to (version 1).
    public func setLimit(_ bytes: Int) throws {
        switch version {
        case .v1:
            // Memory and swap together may not be less than memory: whichever way the limit moves, one order fits.
            try? Self.write("\(bytes)", to: directory + "/memory.memsw.limit_in_bytes")
            try Self.write("\(bytes)", to: directory + "/memory.limit_in_bytes")
            try? Self.write("\(bytes)", to: directory + "/memory.memsw.limit_in_bytes")
        case .v2:
            try? Self.write("0", to: directory + "/memory.swap.max")
            try Self.write("\(bytes)", to: directory + "/memory.max")
        }
    }

    /// Moves the calling process into the cgroup at `directory`; what it allocates from now on is charged there.
    public static func enter(_ directory: String) throws {
        try write("\(getpid())", to: directory + "/cgroup.procs")
    }

    /// Moves this process out again, to the root of the hierarchy.
    public static func leave() throws {
        try write("\(getpid())", to: try hierarchy().root + "/cgroup.procs")
    }

    /// Bytes charged now.
    public var usageBytes: Int {
        Self.number(in: version.usagePath(in: directory)) ?? 0
    }

    /// The most bytes that were ever charged, where the kernel says (version 2: from Linux 5.19).
    public var peakBytes: Int? {
        Self.number(in: directory + (version == .v1 ? "/memory.max_usage_in_bytes" : "/memory.peak"))
    }

    /// How many processes the kernel has killed in here for want of memory.
    public var outOfMemoryKills: Int {
        let file = version == .v1 ? "/memory.oom_control" : "/memory.events"
        let text = SystemFiles.system.text(directory + file) ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("oom_kill ") {
            return Int(line.dropFirst("oom_kill ".count)) ?? 0
        }
        return 0
    }

    /// Kills what still runs in here and removes the cgroup; a second call does nothing.
    public func remove() {
        for _ in 0..<400 {
            if rmdir(directory) == 0 || errno == ENOENT { return }
            for line in (SystemFiles.system.text(directory + "/cgroup.procs") ?? "").split(separator: "\n") {
                if let process = Int32(line), process != getpid() { kill(process, SIGKILL) }
            }
            usleep(5_000)
        }
        print("CgroupSandbox: \(directory) could not be removed: errno \(errno)")
    }
}

extension CgroupSandbox {
    /// The root, as far as this process sees it, of the hierarchy that has the memory controller.
    static func hierarchy() throws -> (root: String, version: CgroupMembership.Version) {
        for membership in CgroupMembership.read(.system) {
            let root = membership.directories[membership.directories.count - 1]
            if membership.version == .v1 { return (root, .v1) }
            let controllers = SystemFiles.system.text(root + "/cgroup.controllers") ?? ""
            if controllers.split(whereSeparator: \.isWhitespace).contains("memory") { return (root, .v2) }
        }
        throw Failure(description: "no memory controller in /proc/self/cgroup")
    }

    static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", path) }
        defer { close(descriptor) }
        var text = text
        let written = text.withUTF8 { systemWrite(descriptor, $0.baseAddress, $0.count) }
        guard written == text.utf8.count else { throw Failure("write \(text) to", path) }
    }

    static func number(in path: String) -> Int? {
        SystemFiles.system.text(path).flatMap { Int($0.split(whereSeparator: \.isWhitespace).first ?? "") }
    }
}

extension CgroupSandbox.Failure {
    fileprivate init(_ call: String, _ path: String) {
        description = "\(call) \(path): \(String(cString: strerror(errno)))"
    }
}

// The member above hides the C library's call of the same name.
private let systemWrite: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { write($0, $1!, $2) }
