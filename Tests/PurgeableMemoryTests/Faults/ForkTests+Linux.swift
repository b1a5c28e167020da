//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Testing
import _CacheTestSupport

@testable import PurgeableMemory

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A child of fork(2) has no values of its parent; each test forks in a process of its own.
@Suite struct ForkTests {
    @Test func childrenSeeNothingAndParentsKeepAll() async {
        await #expect(processExitsWith: .success) {
            let content = pattern(50_000)
            let volatile = PurgeableBytes(copying: content)
            let pinned = PurgeableBytes(copying: content)
            let warm = PurgeableBytes(copying: content)
            let tiny = PurgeableBytes(copying: [1, 2, 3])
            let zeros = PurgeableBytes(copying: [UInt8](repeating: 0, count: 50_000))
            #expect(pinned.beginContentAccess())
            #expect(warm.withBytes { _ in true } == true)
            let child = exitCodeOfChild {
                guard volatile.copyBytes() == nil, pinned.copyBytes() == nil, warm.copyBytes() == nil else { return 1 }
                guard !pinned.beginContentAccess(), pinned.isContentDiscarded else { return 2 }
                pinned.endContentAccess()
                guard warm.withBytes({ _ in true }) == nil, warm.isContentDiscarded else { return 3 }
                guard volatile.withMutableBytes({ _ in true }) == nil, volatile.isContentDiscarded else { return 4 }
                guard tiny.copyBytes() == [1, 2, 3] else { return 5 }
                guard zeros.copyBytes().map({ $0.allSatisfy { $0 == 0 } }) != false else { return 6 }
                // The child may have values of its own.
                let own = PurgeableBytes(copying: content)
                guard own.copyBytes() == content, own.withBytes({ $0.byteCount }) == 50_000 else { return 7 }
                // And its own children do not have those.
                return exitCodeOfChild { own.withBytes { _ in true } == nil ? 0 : 1 } == 0 ? 0 : 8
            }
            #expect(child == 0)
            for value in [volatile, pinned, warm] { #expect(value.copyBytes() == content) }
            #expect(pinned.beginContentAccess())
        }
    }

    @Test func childrenShareMutableBuffers() async {
        await #expect(processExitsWith: .success) {
            let buffer = PurgeableBuffer(byteCount: 50_000)
            buffer.unsafeMutableBytes.copyBytes(from: pattern(50_000))
            let child = exitCodeOfChild {
                guard buffer.unsafeMutableBytes.elementsEqual(pattern(50_000)) else { return 1 }
                buffer.unsafeMutableBytes[0] = 0
                return 0
            }
            #expect(child == 0)
            #expect(buffer.unsafeMutableBytes.elementsEqual(pattern(50_000)))
        }
    }

    @Test func kernelsThatCannotWipeShareWithTheChild() async {
        await #expect(processExitsWith: .success) {
            let faults = FaultySystem()
            faults.refuse(.wipeOnFork, with: 22)
            let pool = PurgeablePool(system: faults.system)
            let content = pattern(50_000)
            let volatile = PurgeableBytes(copying: content, pool: pool)
            let pinned = PurgeableBytes(copying: content, pool: pool)
            #expect(pinned.beginContentAccess())
            let child = exitCodeOfChild {
                guard pinned.withBytes({ $0.withUnsafeBytes { $0.elementsEqual(content) } }) == true else { return 1 }
                let copy = volatile.copyBytes()
                return copy == nil || copy == content ? 0 : 2
            }
            #expect(child == 0)
        }
    }
}
#endif
