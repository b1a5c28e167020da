//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

/// Accesses of all kinds to the same values from several threads, under ThreadSanitizer in a lane of its own.
@Suite struct PurgeableBytesConcurrencyTests {
    private static let pageCount = 3

    /// A value whose bytes are all equal, and never 0.
    private func uniform(_ byte: UInt8, _ pool: PurgeablePool) -> PurgeableBytes {
        PurgeableBytes(copying: [UInt8](repeating: byte, count: Self.pageCount * PageSize.base), pool: pool)
    }

    @Test func nobodySeesHalfAChange() async {
        let pool = PurgeablePool()
        let value = uniform(1, pool)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                group.addTask {
                    for round in 0..<300 {
                        let byte = UInt8(truncatingIfNeeded: round * 2 + writer) | 1
                        let isThere: Void? = value.withMutableBytes { bytes in
                            // Word by word: ThreadSanitizer sees each of these, and not what memset does.
                            let word = UInt64(byte) * 0x0101_0101_0101_0101
                            bytes.withUnsafeMutableBytes { buffer in
                                for place in stride(from: 0, to: buffer.count, by: 8) {
                                    buffer.storeBytes(of: word, toByteOffset: place, as: UInt64.self)
                                }
                            }
                            return ()
                        }
                        #expect(isThere != nil || value.isContentDiscarded)
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<600 {
                        guard let bytes = value.copyBytes() else { return }
                        #expect(bytes == [UInt8](repeating: bytes[0], count: bytes.count))
                    }
                }
                group.addTask {
                    for _ in 0..<600 {
                        let isUniform = value.withBytes { bytes in
                            bytes.withUnsafeBytes { Array($0) == [UInt8](repeating: $0[0], count: $0.count) }
                        }
                        #expect(isUniform != false)
                    }
                }
            }
            group.addTask { for _ in 0..<300 { pool.warmQueue.drain() } }
        }
    }

    /// The values of a test, replaced as they are lost.
    private final class Slots: Sendable {
        let values: Mutex<[PurgeableBytes]>
        init(_ values: [PurgeableBytes]) { self.values = Mutex(values) }
    }

    @Test func everythingAtOnceBalances() async {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let pool = PurgeablePool()
        let slots = Slots((1...8).map { uniform($0, pool) })
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    var random = SplitMix64(seed: seed &+ UInt64(number))
                    for _ in 0..<1500 {
                        let index = Int.random(in: 0..<8, using: &random)
                        let byte = UInt8(index + 1)
                        let value = slots.values.withLock { $0[index] }
                        switch Int.random(in: 0..<8, using: &random) {
                        case 0: value.discardContentIfPossible()
                        case 1: pool.warmQueue.drain()
                        case 2: _ = value.isContentDiscarded
                        case 3:
                            value.discardContentIfPossible()
                            let fresh = uniform(byte, pool)
                            slots.values.withLock { $0[index] = fresh }
                        case 4...5:
                            guard value.beginContentAccess() else { continue }
                            #expect(value.load(at: PageSize.base, as: UInt8.self) == byte)
                            value.endContentAccess()
                        default:
                            guard let bytes = value.copyBytes() else { continue }
                            #expect(bytes == [UInt8](repeating: byte, count: bytes.count))
                        }
                    }
                }
            }
        }
        slots.values.withLock { values in
            for value in values {
                value.discardContentIfPossible()
                #expect(value.isContentDiscarded, "every access was ended")
            }
            values = []
        }
        pool.warmQueue.drain()
        #expect(pool.usage.volatileByteCount == 0)
        #expect(pool.usage.pinnedByteCount == 0)
        #expect(pool.usage.ordinaryByteCount == 0)
    }

    @Test func buffersCountFromAnyThread() async {
        let pool = PurgeablePool()
        let buffer = PurgeableBuffer(byteCount: 10_000, pool: pool)
        buffer.unsafeMutableBytes.initializeMemory(as: UInt8.self, repeating: 9)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        #expect(buffer.beginContentAccess())
                        buffer.discardContentIfPossible()
                        #expect(buffer.unsafeMutableBytes[9999] == 9)
                        buffer.endContentAccess()
                        pool.warmQueue.drain()
                    }
                }
            }
        }
        #expect(buffer.accessCount == 1)
        buffer.endContentAccess()
        buffer.discardContentIfPossible()
        #expect(buffer.isContentDiscarded)
    }
}
