//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A number for each slot of a slab, in memory that grows by moving pages instead of bytes, so that nobody waits for
/// the copying of millions. Zero where nothing was stored.
///
/// A pointer whose owner frees it by ``deallocate()``.
struct SlotColumn<Element: BitwiseCopyable & FixedWidthInteger> {
    private var elements: UnsafeMutablePointer<Element>?
    private(set) var count = 0

    init() {}

    /// With room for `count` slots.
    init(count: Int) { grow(to: count) }

    subscript(_ slot: Int) -> Element {
        get { elements.unsafelyUnwrapped[slot] }
        nonmutating set { elements.unsafelyUnwrapped[slot] = newValue }
    }

    /// Makes room for `newCount` slots, which is more than there is room for.
    mutating func grow(to newCount: Int) {
        let size = MemoryLayout<Element>.stride
        let memory =
            elements.map { AlignedMemory.grow($0, from: count * size, to: newCount * size) }
            ?? AlignedMemory.allocate(newCount * size)
        let grown = memory.bindMemory(to: Element.self, capacity: newCount)
        // Fresh pages are zeros already: to write them would be to take them.
        let isMapped = AlignedMemory.isMapped(newCount * size)
        (grown + count).initialize(repeating: 0, count: isMapped ? 0 : newCount - count)
        (elements, count) = (grown, newCount)
    }

    func deallocate() {
        guard let elements else { return }
        AlignedMemory.deallocate(elements, count * MemoryLayout<Element>.stride)
    }
}
