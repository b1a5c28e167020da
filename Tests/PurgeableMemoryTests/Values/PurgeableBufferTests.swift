//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import PurgeableMemory

@Suite struct PurgeableBufferTests {
    @Test func isBornAccessed() {
        let buffer = PurgeableBuffer(byteCount: 3, capacity: 10)
        #expect(buffer.accessCount == 1)
        #expect(buffer.byteCount == 3)
        #expect(isZero(UnsafeRawBufferPointer(buffer.unsafeMutableBytes)))
        buffer.discardContentIfPossible()
        #expect(!buffer.isContentDiscarded)
        buffer.endContentAccess()
        buffer.discardContentIfPossible()
        #expect(buffer.isContentDiscarded)
        #expect(!buffer.beginContentAccess())
        #expect(buffer.accessCount == 0)
    }

    @Test(arguments: interestingSizes) func keepsItsBytesOverAccesses(byteCount: Int) {
        let pool = PurgeablePool()
        let buffer = PurgeableBuffer(byteCount: byteCount, pool: pool)
        let content = pattern(byteCount)
        buffer.unsafeMutableBytes.copyBytes(from: content)
        for _ in 0..<3 {
            buffer.endContentAccess()
            pool.warmQueue.drain()
            #expect(!buffer.isContentDiscarded)
            #expect(buffer.beginContentAccess())
            #expect(Array(buffer.unsafeMutableBytes) == content)
        }
    }

    @Test func aLostPageIsNoticed() {
        let pool = PurgeablePool()
        let buffer = PurgeableBuffer(byteCount: 5 * PageSize.base, pool: pool)
        let bytes = buffer.unsafeMutableBytes
        bytes.copyBytes(from: pattern(bytes.count))
        buffer.endContentAccess()
        pool.warmQueue.drain()
        _ = PageSystem.live.advise(bytes.baseAddress! + 3 * PageSize.base, PageSize.base, .discard)
        #expect(buffer.isContentDiscarded)
        #expect(!buffer.beginContentAccess())
        #expect(pool.usage.volatileByteCount == 0)
    }

    @Test func growsAndShrinksLikeAnArrayOfZeros() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let pool = PurgeablePool()
        var model: [UInt8] = []
        let buffer = PurgeableBuffer(byteCount: 0, pool: pool)
        for round in 0..<400 {
            let count = Int.random(in: 0...(round % 20 == 0 ? 200_000 : 9000), using: &random)
            buffer.resize(to: count)
            model = Array(model.prefix(count)) + [UInt8](repeating: 0, count: max(0, count - model.count))
            if count > 0 {
                let index = Int.random(in: 0..<count, using: &random)
                buffer.unsafeMutableBytes[index] = 5
                model[index] = 5
            }
            if round % 7 == 0 {
                buffer.endContentAccess()
                pool.warmQueue.drain()
                #expect(buffer.beginContentAccess())
            }
            #expect(buffer.byteCount == count)
            #expect(buffer.unsafeMutableBytes.elementsEqual(model))
        }
    }

    @Test func useWithoutAccessTraps() async {
        await #expect(processExitsWith: .failure) {
            let buffer = PurgeableBuffer(byteCount: 3)
            buffer.endContentAccess()
            _ = buffer.unsafeMutableBytes
        }
        await #expect(processExitsWith: .failure) {
            let buffer = PurgeableBuffer(byteCount: 3)
            buffer.endContentAccess()
            buffer.endContentAccess()
        }
        await #expect(processExitsWith: .failure) {
            let buffer = PurgeableBuffer(byteCount: 3)
            buffer.endContentAccess()
            buffer.resize(to: 4)
        }
    }

    @Test func givesItsMemoryBack() {
        let faults = FaultySystem()
        do {
            let pool = PurgeablePool(system: faults.system)
            let buffer = PurgeableBuffer(byteCount: 40 << 20, pool: pool)
            buffer.resize(to: 60 << 20)
            #expect(pool.usage.pinnedByteCount == 60 << 20)
        }
        #expect(faults.mappedByteCount == 0)
    }
}
