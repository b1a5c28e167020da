//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Foundation
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What the child's handler of faults does, which has one thread.
private nonisolated(unsafe) var onFault: () -> Void = {}

extension OptimisticInsertionTests {
    /// The child stops a lookup between key and value, which lie on two pages: the second may not be read at first. What
    /// interrupts it is a whole insertion but for its end, into the very slot.
    @Test("a lookup that an insertion overtakes between key and value believes neither")
    func overtaken() {
        for overtakes in [false, true] {
            let code = exitCodeOfChild {
                let page = Int(getpagesize())
                let engine = Engine.filled(2000, Tagged.init)
                let (shard, _) = engine.locate(2000, Self.hash(2000, in: engine), toSet: true)
                let slab = UInt(bitPattern: shard.pointee.storage.entries)
                let stride = MemoryLayout<Entry<Int, Tagged>>.stride
                // The key ends before a page that the value lies in, and both of the pages belong to the slab alone.
                let slot = (page / stride + 1..<1900).first { slot in
                    let key = slab &+ UInt(slot * stride + 16)
                    return (key &+ 8) / UInt(page) < (key &+ 71) / UInt(page)
                }!
                let key = shard.pointee.storage.entries[slot].key
                let second = (slab &+ UInt(slot * stride + 24 + 63)) / UInt(page) &* UInt(page)
                let memory = UnsafeMutableRawPointer(bitPattern: second)!
                nonisolated(unsafe) var faults = 0
                onFault = {
                    faults += 1
                    // A second one is not the page's, and would come again for ever.
                    if faults > 1 { _exit(6) }
                    mprotect(memory, page, PROT_READ | PROT_WRITE)
                    if !overtakes { return }
                    _ = shard.pointee.evict(UInt32(slot), residents: 2000, cause: .countLimit)
                    let hash = Self.hash(2000, in: engine)
                    var newcomer = engine.prepare(Tagged(2000), hash, cost: 0, recomputeCost: nil, lifetime: nil)
                    let keepsTable = shard.pointee.keepsTable
                    shard.pointee.insert(
                        2000,
                        Tagged(2000),
                        &newcomer,
                        keepsTable: keepsTable,
                        sparesTable: false
                    )
                }
                signal(SIGSEGV) { _ in onFault() }
                signal(SIGBUS) { _ in onFault() }
                mprotect(memory, page, PROT_NONE)
                let value = engine.valueWithoutLock(key, Self.hash(key, in: engine))
                if faults != 1 { return 2 }
                switch value {
                case .none: return overtakes ? 0 : 3
                case .some(.none): return 4
                case .some(.some(let value)): return !overtakes && value.belongs(to: key) ? 0 : 5
                }
            }
            #expect(code == 0, "overtakes: \(overtakes)")
        }
    }
}
#endif
