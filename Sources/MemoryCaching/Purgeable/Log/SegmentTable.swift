//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// The records of all segments at addresses that never change, so that readers find them without a lock.
///
/// A directory of chunks: it grows under the log's lock by publishing a new chunk, and nothing in it moves.
struct SegmentTable {
    private static let chunkBits = 8
    private static let chunkCount = LogLocation.maximumSegments >> chunkBits

    typealias Chunk = UnsafeMutablePointer<Segment>
    private let chunks: UnsafeMutablePointer<Atomic<UInt>>

    init() {
        chunks = .allocate(capacity: Self.chunkCount)
        for i in 0..<Self.chunkCount { (chunks + i).initialize(to: Atomic(0)) }
    }

    /// The record of a segment that has been added.
    @inline(__always)
    subscript(_ number: Int) -> UnsafeMutablePointer<Segment> {
        let chunk = chunks[number >> Self.chunkBits].load(ordering: .acquiring)
        return Chunk(bitPattern: chunk).unsafelyUnwrapped + (number & (1 << Self.chunkBits - 1))
    }

    /// Adds the record of segment `number`, the one after the last added.
    func add(_ number: Int, base: UnsafeMutableRawPointer) {
        let place = number >> Self.chunkBits
        if number & (1 << Self.chunkBits - 1) == 0 {
            let chunk = Chunk.allocate(capacity: 1 << Self.chunkBits)
            chunk.initialize(to: Segment(base: base))
            chunks[place].store(UInt(bitPattern: chunk), ordering: .releasing)
        } else {
            self[number].initialize(to: Segment(base: base))
        }
    }

    /// Frees the records of `count` segments; nobody reads any more.
    func destroy(count: Int) {
        for number in 0..<count { self[number].deinitialize(count: 1) }
        for place in 0..<Self.chunkCount {
            Chunk(bitPattern: chunks[place].load(ordering: .relaxed))?.deallocate()
        }
        chunks.deinitialize(count: Self.chunkCount)
        chunks.deallocate()
    }
}
