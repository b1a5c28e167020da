//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import PurgeableMemory

@Suite struct PurgeableBytesMutationTests {
    @Test(arguments: interestingSizes.filter { $0 > 0 }) func changesAreKept(byteCount: Int) throws {
        var content = pattern(byteCount)
        let bytes = PurgeableBytes(copying: content)
        let answer = bytes.withMutableBytes { span in
            span.withUnsafeMutableBytes { $0[byteCount / 2] = 0 }
            return 5
        }
        #expect(answer == 5)
        content[byteCount / 2] = 0
        #expect(bytes.copyBytes() == content)
        PurgeablePool.shared.warmQueue.drain()
        #expect(bytes.copyBytes() == content || bytes.isContentDiscarded)
    }

    @Test func witnessesFollowTheContent() {
        let pool = PurgeablePool()
        let bytes = PurgeableBytes(copying: pattern(3 * PageSize.base), pool: pool)
        // Zero all of the second page but its last byte, and all of the third.
        _ = bytes.withMutableBytes { span in
            span.withUnsafeMutableBytes { target in
                for index in PageSize.base..<3 * PageSize.base { target[index] = 0 }
                target[2 * PageSize.base - 1] = 3
            }
        }
        pool.warmQueue.drain()
        bytes.losePage(2)
        #expect(bytes.copyBytes()?[2 * PageSize.base - 1] == 3, "the third page has nothing to lose")
        bytes.losePage(1)
        #expect(bytes.copyBytes() == nil)

        let zeros = PurgeableBytes(copying: [UInt8](repeating: 0, count: 2 * PageSize.base), pool: pool)
        _ = zeros.withMutableBytes { span in span.withUnsafeMutableBytes { $0[5000] = 1 } }
        pool.warmQueue.drain()
        zeros.losePage(1)
        #expect(zeros.copyBytes() == nil, "a page that was all zero has a witness now")
    }

    @Test func whatAThrowingBodyWroteStays() {
        let bytes = PurgeableBytes(copying: pattern(10_000))
        #expect(throws: Refusal()) {
            try bytes.withMutableBytes { (span) throws(Refusal) in
                span.withUnsafeMutableBytes { $0[1] = 99 }
                throw Refusal()
            }
        }
        #expect(bytes.copyBytes()?[1] == 99)
        #expect(bytes.extent.loadState().isPinned == false)
    }

    @Test func discardedBytesAreNotLent() {
        let bytes = PurgeableBytes(copying: pattern(10_000))
        bytes.discardContentIfPossible()
        #expect(bytes.withMutableBytes { _ in 1 } == nil)
    }

    @Test func changesWhileHeldByBeginAreAllowed() {
        let bytes = PurgeableBytes(copying: pattern(10_000))
        #expect(bytes.beginContentAccess())
        _ = bytes.withMutableBytes { span in span.withUnsafeMutableBytes { $0[0] = 77 } }
        #expect(bytes.copyBytes()?[0] == 77)
        bytes.endContentAccess()
    }

    @Test func randomOperationsAgreeWithAnArray() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<20 {
            let count = Int.random(in: 0...6 * PageSize.base, using: &random)
            var model = (0..<count).map { _ in UInt8.random(in: 0...3, using: &random) }
            let pool = PurgeablePool()
            let bytes = PurgeableBytes(copying: model, pool: pool)
            for _ in 0..<60 {
                let low = Int.random(in: 0...count, using: &random)
                let range = low..<Int.random(in: low...count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let value = UInt8.random(in: 0...1, using: &random)
                    _ = bytes.withMutableBytes { span in
                        span.withUnsafeMutableBytes { for index in range { $0[index] = value } }
                    }
                    for index in range { model[index] = value }
                case 1: #expect(bytes.copyBytes(in: range) == Array(model[range]))
                case 2: pool.warmQueue.drain()
                default: #expect(bytes.withBytes { $0.withUnsafeBytes { Array($0) } } == model)
                }
            }
            #expect(bytes.copyBytes() == model)
        }
    }
}
