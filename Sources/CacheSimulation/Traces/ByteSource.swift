//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The bytes of a file, in chunks, unpacked by `gzip` or `zstd` in a child process where the file is compressed.
///
/// A child process instead of a library: reading traces must not make anybody link a compressor. The child's standard
/// input is the file itself, so that bytes go through one pipe only.
final class ByteSource {
    /// Why a source gave up; the reader adds file and position.
    typealias Reason = TraceError.Reason

    private var descriptor: CInt
    private var child: pid_t?
    private var program = ""
    /// What had to be read to see what the file is, where it cannot be rewound (a pipe).
    private var pending: [UInt8] = []

    /// Opens `path`.
    init(path: String) throws(TraceError.Reason.Failure) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .init(.unreadable(Self.systemMessage())) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .init(.unreadable(Self.systemMessage())) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw .init(.unreadable("it is a directory")) }
        var magic = [UInt8](repeating: 0, count: 4)
        let length = try Self.readAll(descriptor, into: &magic)
        let packer = Self.packer(of: magic.prefix(length))
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            guard packer == nil else { throw .init(.unreadable("it is compressed and comes through a pipe")) }
            pending = Array(magic.prefix(length))
            return
        }
        if let packer { try unpack(with: packer) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        // Its next write fails with EPIPE now, so the wait is short.
        if let child { var status: CInt = 0; while waitpid(child, &status, 0) == -1, errno == EINTR {} }
    }

    /// Reads up to `buffer.count` bytes; 0 is the end, and then the child has succeeded.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TraceError.Reason.Failure) -> Int {
        if !pending.isEmpty {
            let count = min(pending.count, buffer.count)
            pending.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0.prefix(count))) }
            pending.removeFirst(count)
            return count
        }
        let count = try Self.read(descriptor, into: buffer)
        if count == 0 { try finishChild() }
        return count
    }

    private static func packer(of magic: ArraySlice<UInt8>) -> String? {
        if magic.starts(with: [0x1F, 0x8B]) { return "gzip" }  // RFC 1952, 2.3.1
        if magic.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { return "zstd" }  // RFC 8878, 3.1.1
        return nil
    }

    private func unpack(with program: String) throws(TraceError.Reason.Failure) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .init(.unreadable(Self.systemMessage())) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        #else
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup("-dc"), nil]
        defer { for argument in arguments { free(argument) } }
        var identifier: pid_t = 0
        let failure = posix_spawnp(&identifier, program, &actions, nil, &arguments, environ)
        close(ends[1])
        close(descriptor)
        descriptor = ends[0]
        guard failure == 0 else { throw .init(.missingDecompressor(program)) }
        self.program = program
        child = identifier
    }

    private func finishChild() throws(TraceError.Reason.Failure) {
        guard let child else { return }
        self.child = nil
        var status: CInt = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        // 127: posix_spawn of a C library that finds the program missing only in the child.
        if (status >> 8) & 0xFF == 127 { throw .init(.missingDecompressor(program)) }
        guard status == 0 else { throw .init(.damagedCompression(program)) }
    }

    private static func read(
        _ descriptor: CInt,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(TraceError.Reason.Failure) -> Int {
        while true {
            #if canImport(Glibc)
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            #elseif canImport(Musl)
            let count = Musl.read(descriptor, buffer.baseAddress, buffer.count)
            #else
            let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
            #endif
            if count >= 0 { return count }
            guard errno == EINTR else { throw .init(.unreadable(systemMessage())) }
        }
    }

    private static func readAll(
        _ descriptor: CInt,
        into bytes: inout [UInt8]
    ) throws(TraceError.Reason.Failure) -> Int {
        var length = 0
        let total = bytes.count
        while length < total {
            let (count, failure): (Int, TraceError.Reason.Failure?) = bytes.withUnsafeMutableBytes { buffer in
                do throws(TraceError.Reason.Failure) {
                    return (try read(descriptor, into: .init(rebasing: buffer[length...])), nil)
                } catch { return (0, error) }
            }
            if let failure { throw failure }
            if count == 0 { break }
            length += count
        }
        return length
    }

    private static func systemMessage() -> String { String(cString: strerror(errno)) }
}

extension TraceError.Reason {
    /// A reason on its way to the reader, which knows the file and the position.
    struct Failure: Error {
        var reason: TraceError.Reason
        init(_ reason: TraceError.Reason) { self.reason = reason }
    }
}
