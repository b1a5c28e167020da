//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Foundation
import Testing

@testable import MemoryCaching

@Suite("memory that stays readable, where the kernel refuses")
struct StableMemoryTests {
    /// Mappings that this machine allows a process, if that many are made in a moment.
    static let mostMappings = (try? String(contentsOfFile: "/proc/sys/vm/max_map_count", encoding: .utf8))
        .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }

    /// Making the middle of a mapping writable takes two more. A process that has as many as it may is given a new
    /// mapping yet, so that is what a table or a slab has to take.
    @Test(
        "A block that cannot be used again for too many mappings is replaced by a new one",
        .enabled(if: mostMappings.map { $0 <= 1 << 18 } ?? false, "SKIPPED: vm.max_map_count is large or not known")
    )
    func tooManyMappings() async {
        await #expect(processExitsWith: .success) {
            let page = sysconf(Int32(_SC_PAGESIZE))
            let size = 16 * page
            let stable = StableMemory()
            let blocks = (0..<64).map { _ in stable.allocateZeros(size) }.sorted()
            // The last one out of use is the first to be used again: one that others lie around.
            let inner = blocks.indices.dropFirst().dropLast()
                .first { blocks[$0 - 1] + size == blocks[$0] && blocks[$0] + size == blocks[$0 + 1] }
            guard let middle = inner.map({ blocks[$0] }) else { exit(6) }
            for block in blocks where block != middle { stable.retire(block, size) }
            stable.retire(middle, size)

            let count = (StableMemoryTests.mostMappings ?? 0) + 64
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
            let region = mmap(nil, 2 * count * page, PROT_NONE, flags, -1, 0)
            guard let region, region != MAP_FAILED else { exit(2) }
            var made = 0
            while made < count, mprotect(region + 2 * made * page, page, PROT_READ) == 0 { made += 1 }
            guard made < count else { exit(3) }
            // A page in the middle takes two mappings more, so there may be one left. The last page takes one.
            _ = mprotect(region + (2 * count - 1) * page, page, PROT_READ)

            let next = stable.allocateZeros(size)
            guard (0..<size).allSatisfy({ next.load(fromByteOffset: $0, as: UInt8.self) == 0 }) else { exit(4) }
            next.storeBytes(of: 1, toByteOffset: size - 1, as: UInt8.self)
            // It is used again when there are fewer.
            munmap(region, 2 * count * page)
            guard next != middle, stable.allocateZeros(size) == middle else { exit(5) }
        }
    }
}
#endif
