//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// One mapping with uniform flags: no part of it is ever advised so that the kernel must split it in two.
///
/// Only `free` and `discard` are said of parts; both leave the mapping whole. vm.max_map_count (65,530 by default)
/// therefore bounds regions, not values.
struct PageRegion: @unchecked Sendable {
    // Sendable: an address and a length, both constant.

    private static let counter = Atomic<Int>(0)
    /// Regions of this process that are mapped.
    static var count: Int { counter.load(ordering: .relaxed) }

    /// The first byte, aligned to the unit.
    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// A region that is mapped already.
    init(base: UnsafeMutableRawPointer, byteCount: Int) {
        self.base = base
        self.byteCount = byteCount
    }

    /// Maps `byteCount` bytes, or nil where the system refuses.
    init?(byteCount: Int, pages: PageArena.Pages, wipesOnFork: Bool, system: PageSystem) {
        // The kernel aligns to base pages: ask for a unit more and cut off what sticks out.
        let slack = pages.unit - PageSize.base
        guard let mapping = system.map(byteCount + slack).base else { return nil }
        let head = -Int(bitPattern: mapping) & (pages.unit - 1)
        base = mapping + head
        self.byteCount = byteCount
        if head > 0 { _ = system.unmap(mapping, head) }
        if slack > head { _ = system.unmap(base + byteCount, slack - head) }
        Self.counter.wrappingAdd(1, ordering: .relaxed)
        // Refusals here cost speed or room, never truth: an old kernel knows no wipe-on-fork and then shares the
        // pages with the child; one without huge pages has none to forbid.
        _ = system.advise(base, byteCount, pages == .huge ? .hugePages : .basePages)
        _ = system.advise(base, byteCount, .omitFromCoreDump)
        if wipesOnFork { _ = system.advise(base, byteCount, .wipeOnFork) }
    }

    /// Gives the address space back, and the memory in any case.
    func unmap(_ system: PageSystem) {
        let error = system.unmap(base, byteCount)
        if error == 0 {
            Self.counter.wrappingSubtract(1, ordering: .relaxed)
        } else {
            // It would cut a merged mapping in two beyond the map count; the pages at least can go.
            _ = system.advise(base, byteCount, .discard)
        }
    }
}
