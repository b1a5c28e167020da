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

    @Test(
        "Blocks are taken out of use and used again where the kernel makes no mapping any more",
        .enabled(if: mostMappings.map { $0 <= 1 << 18 } ?? false, "SKIPPED: vm.max_map_count is large or not known")
    )
    func tooManyMappings() async {
        await #expect(processExitsWith: .success) {
            let page = sysconf(Int32(_SC_PAGESIZE))
            let size = 16 * page
            let stable = StableMemory()
            let blocks = (0..<64).map { _ in stable.allocateZeros(size) }.sorted()
            let early = blocks.prefix(32)
            for block in early {
                block.initializeMemory(as: UInt8.self, repeating: 7, count: size)
                stable.retire(block, size)
            }

            let count = (StableMemoryTests.mostMappings ?? 0) + 64
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
            let region = mmap(nil, 2 * count * page, PROT_NONE, flags, -1, 0)
            guard let region, region != MAP_FAILED else { exit(2) }
            var made = 0
            while made < count, mprotect(region + 2 * made * page, page, PROT_READ) == 0 { made += 1 }
            guard made < count else { exit(3) }
            // A page in the middle takes two mappings more, so there may be one left. The last page takes one.
            _ = mprotect(region + (2 * count - 1) * page, page, PROT_READ)

            // Of these, those that others lie around cannot be replaced.
            for block in blocks.suffix(32) {
                block.initializeMemory(as: UInt8.self, repeating: 7, count: size)
                stable.retire(block, size)
            }
            var again: Set<UnsafeMutableRawPointer> = []
            for _ in blocks {
                let block = stable.allocateZeros(size)
                guard (0..<size).allSatisfy({ block.load(fromByteOffset: $0, as: UInt8.self) == 0 }) else { exit(4) }
                block.storeBytes(of: 1, toByteOffset: size - 1, as: UInt8.self)
                again.insert(block)
            }
            guard again == Set(blocks) else { exit(5) }
        }
    }
}
#endif
