//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Memory by slot, in chunks of 128 that never move. What the slots hold is the owner's to initialise.
///
/// Entries of an index take 2 KiB a chunk: little to waste in each of many shards, and a sixteenth of a byte an entry
/// for the directory.
///
/// A bundle of pointers whose owner frees them by ``deallocate()``.
struct ChunkedSlots<Element> {
    static var bits: Int { 7 }
    static var chunkSize: Int { 1 << bits }

    private var chunks: UnsafeMutablePointer<UnsafeMutablePointer<Element>>?
    private(set) var chunkCount = 0
    private var room = 0
    private let alignment: Int

    /// Where each chunk begins at a multiple of `alignment`.
    init(alignment: Int = MemoryLayout<Element>.alignment) { self.alignment = alignment }

    @inline(__always)
    subscript(slot: Int) -> UnsafeMutablePointer<Element> {
        chunks.unsafelyUnwrapped[slot >> Self.bits] + (slot & (Self.chunkSize - 1))
    }

    /// Slots there is memory for.
    var capacity: Int { chunkCount << Self.bits }

    mutating func addChunk() {
        if chunkCount == room {
            room = max(8, room * 2)
            let grown = UnsafeMutablePointer<UnsafeMutablePointer<Element>>.allocate(capacity: room)
            if let chunks {
                grown.moveInitialize(from: chunks, count: chunkCount)
                chunks.deallocate()
            }
            chunks = grown
        }
        let byteCount = Self.chunkSize * MemoryLayout<Element>.stride
        let chunk = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        (chunks! + chunkCount).initialize(to: chunk.bindMemory(to: Element.self, capacity: Self.chunkSize))
        chunkCount += 1
    }

    /// Frees what lies behind the first `count` slots, in which nothing is left.
    mutating func shrink(toSlots count: Int) {
        let kept = (count + Self.chunkSize - 1) >> Self.bits
        while chunkCount > kept {
            chunkCount -= 1
            chunks![chunkCount].deallocate()
        }
    }

    func deallocate() {
        for chunk in 0..<chunkCount { chunks![chunk].deallocate() }
        chunks?.deallocate()
    }

    /// Bytes of all this.
    var byteCount: Int { capacity * MemoryLayout<Element>.stride + room * MemoryLayout<Int>.stride }
}
