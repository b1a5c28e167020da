//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import PurgeableMemory

/// What else takes memory beside the cache, as "NAME" or "NAME=MEBIBYTES".
enum Situation {
    /// Nothing: the cache alone grows.
    case alone
    /// Three times, with the cache full: so much ordinary memory in one go, as fast as it can be written.
    case burst(Int)
    /// The same, announced before.
    case announced(Int)
    /// Purgeable values that are pinned for the whole time.
    case pinned(Int)
    /// A file that was read once, before the cache is filled.
    case file(Int)
    /// A file that is read again and again while the cache is filled and afterwards.
    case rereading(Int)

    init?(_ text: String) {
        let parts = text.split(separator: "=")
        let bytes = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) << 20
        switch (parts[0], bytes > 0) {
        case ("alone", false): self = .alone
        case ("burst", true): self = .burst(bytes)
        case ("announced", true): self = .announced(bytes)
        case ("pinned", true): self = .pinned(bytes)
        case ("file", true): self = .file(bytes)
        case ("rereading", true): self = .rereading(bytes)
        default: return nil
        }
    }

    /// Brings the situation about; what is returned keeps it up.
    func begin() throws -> [any Sendable] {
        switch self {
        case .alone, .burst, .announced: return []
        case .pinned(let bytes):
            return (0..<bytes >> 20).map { _ in
                // Volatile at once, and then pinned: the kernel goes on counting its pages as ones that it could take.
                let value = PurgeableBytes(copying: [UInt8](repeating: 7, count: 1 << 20))
                precondition(value.beginContentAccess(), "purged before there was pressure")
                return value
            }
        case .file(let bytes):
            try Self.makeFile(bytes).read()
            return []
        case .rereading(let bytes):
            let file = try Self.makeFile(bytes)
            let thread = Thread { while true { file.read() } }
            thread.start()
            return []
        }
    }

    /// What happens once the cache is full; `refill` fills it up again.
    func act(refill: (Int) -> Void) {
        for round in 0..<3 {
            switch self {
            case .burst(let bytes):
                Self.take(bytes, round)
                refill(bytes + bytes / 4)
            case .announced(let bytes):
                MemoryReserve.withFree(bytes: bytes) { free in
                    if free < bytes { FileHandle.standardError.write(Data("only \(free) bytes are free\n".utf8)) }
                    Self.take(bytes, round)
                }
                refill(bytes + bytes / 4)
            default: return
            }
        }
    }

    /// Takes memory in one go, as large buffers are: mapped, from the allocator, as an array.
    private static func take(_ bytes: Int, _ round: Int) {
        switch round {
        case 0:
            let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
            memset(memory, 1, bytes)
            munmap(memory, bytes)
        case 1:
            let memory = malloc(bytes)!
            memset(memory, 1, bytes)
            free(memory)
        default:
            precondition([UInt8](repeating: 1, count: bytes).last == 1)
        }
    }

    private static func makeFile(_ bytes: Int) throws -> ReadFile {
        let path = "/var/tmp/memory-fill-\(getpid())"
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw MemoryFill.Usage() }
        unlink(path)
        let chunk = [UInt8](repeating: 3, count: 1 << 20)
        for _ in 0..<bytes >> 20 { _ = write(descriptor, chunk, chunk.count) }
        // Dirty pages are not page cache that can be dropped.
        fsync(descriptor)
        return ReadFile(descriptor: descriptor, byteCount: bytes)
    }

    struct ReadFile: Sendable {
        let descriptor: Int32
        let byteCount: Int

        func read() {
            var chunk = [UInt8](repeating: 0, count: 1 << 20)
            for offset in stride(from: 0, to: byteCount, by: chunk.count) {
                _ = pread(descriptor, &chunk, chunk.count, off_t(offset))
            }
        }
    }
}
