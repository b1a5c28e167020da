//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import ForkSafety
internal import Synchronization

/// Where purgeable values live: arenas, the warm queue and the books. The process has one; tests make their own over
/// faulty system calls.
package final class PurgeablePool: Sendable {
    /// The process's pool. A child of fork has its own: its parent's pages are wiped there.
    package static var shared: PurgeablePool { perProcess.value }
    private static let perProcess = PerProcess { PurgeablePool() }

    /// The system calls in use.
    let system: PageSystem

    /// Recently accessed extents.
    package let warmQueue = WarmQueue()

    /// Bytes by what the kernel may do with them.
    package let usage = UsageCounters()

    let forkWitness: ForkWitness

    private let basePages: PageArena
    private let hugePages: PageArena
    private let sharedPages: PageArena

    /// A pool of its own mappings.
    package init(system: PageSystem = .live) {
        self.system = system
        forkWitness = ForkWitness(system: system)
        let wipes = forkWitness.isReliable
        basePages = PageArena(pages: .base, wipesOnFork: wipes, system: system)
        hugePages = PageArena(pages: .huge, wipesOnFork: wipes, system: system)
        sharedPages = PageArena(pages: .base, wipesOnFork: false, system: system)
    }

    /// The arena for a value, or nil for one that is better off in allocated memory: less than a page.
    ///
    /// Huge pages are for values of 2 MiB and more of which they would not waste an eighth.
    func arena(for byteCount: Int, sharedWithChildren: Bool) -> PageArena? {
        guard byteCount >= PageSize.base else { return nil }
        if sharedWithChildren { return sharedPages }
        let waste = -byteCount & (PageSize.huge - 1)
        return byteCount >= PageSize.huge && waste <= byteCount / 8 ? hugePages : basePages
    }
}

/// Bytes of purgeable values by what the kernel may do with them.
package final class UsageCounters: Sendable {
    private let volatileCount = Atomic<Int>(0)
    private let pinnedCount = Atomic<Int>(0)
    private let ordinaryCount = Atomic<Int>(0)

    /// Bytes that the kernel may take, some of which it may have taken without a word.
    package var volatileByteCount: Int { volatileCount.load(ordering: .relaxed) }
    /// Bytes in pages that the kernel must keep for now: accessed, or lately accessed.
    package var pinnedByteCount: Int { pinnedCount.load(ordering: .relaxed) }
    /// Bytes that only an eviction frees: values below a page, and those that the kernel refused to take.
    package var ordinaryByteCount: Int { ordinaryCount.load(ordering: .relaxed) }

    /// Bytes in pages that the kernel takes at some time, or may have taken: volatile or pinned.
    package var pageByteCount: Int { volatileByteCount + pinnedByteCount }

    /// Books bytes that other storage of purgeable values made volatile, or (negative) ceased to hold so.
    package func addVolatile(_ byteCount: Int) { volatileCount.wrappingAdd(byteCount, ordering: .relaxed) }
    /// Books bytes that other storage of purgeable values keeps from the kernel for now.
    func addPinned(_ byteCount: Int) { pinnedCount.wrappingAdd(byteCount, ordering: .relaxed) }
    /// Books bytes that the kernel refused to take.
    package func addOrdinary(_ byteCount: Int) { ordinaryCount.wrappingAdd(byteCount, ordering: .relaxed) }

    func add(_ byteCount: Int, to state: ExtentState) {
        if state.isOrdinary {
            addOrdinary(byteCount)
        } else if state.phase == .volatile {
            addVolatile(byteCount)
        } else {
            addPinned(byteCount)
        }
    }

    func remove(_ byteCount: Int, from state: ExtentState) { add(-byteCount, to: state) }

    func move(_ byteCount: Int, from old: ExtentState, to new: ExtentState) {
        guard old.isOrdinary != new.isOrdinary || old.phase != new.phase else { return }
        remove(byteCount, from: old)
        add(byteCount, to: new)
    }
}
