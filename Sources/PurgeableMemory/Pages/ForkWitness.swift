//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import CMemoryShims
internal import Synchronization

/// Tells a child of fork(2) that its pages were wiped.
///
/// One page of its own, wiped on fork, holds the generation of this process: a child reads zero there. Extents that
/// are resident are normally used without any look at their pages; comparing one word (a load) is what keeps a child
/// from taking wiped pages for content.
final class ForkWitness: @unchecked Sendable {
    // Sendable: the word is atomic, everything else constant.

    /// The word, which holds the current generation, or zero in a child that nobody has told yet.
    let word: UnsafeMutableRawPointer

    /// Whether pages may be wiped on fork; false where the kernel refuses (before 4.14) and children share pages.
    let isReliable: Bool

    /// A word that is always 0, for content that no fork wipes.
    nonisolated(unsafe) static let unwiped: UnsafeMutableRawPointer = {
        // Safe: written once, here.
        let word = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
        word.storeBytes(of: 0, as: UInt64.self)
        return word
    }()

    private let system: PageSystem
    private let lastGeneration = Atomic<UInt64>(0)

    init(system: PageSystem) {
        self.system = system
        let base = system.map(PageSize.base).base
        if let base, system.advise(base, PageSize.base, .wipeOnFork) == 0 {
            word = base
            isReliable = true
        } else {
            if let base { _ = system.unmap(base, PageSize.base) }
            word = .allocate(byteCount: MemoryLayout<UInt64>.size, alignment: MemoryLayout<UInt64>.alignment)
            word.storeBytes(of: 0, as: UInt64.self)
            isReliable = false
        }
    }

    deinit {
        if isReliable { _ = system.unmap(word, PageSize.base) } else { word.deallocate() }
    }

    /// The generation of this process, never 0.
    func currentGeneration() -> UInt64 {
        let generation = cms_load_acquire_u64(word)
        if generation != 0 { return generation }
        // The first call in this process; of several threads one wins.
        return cms_store_if_zero_u64(word, lastGeneration.add(1, ordering: .relaxed).newValue)
    }
}
