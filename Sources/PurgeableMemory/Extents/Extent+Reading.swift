//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
public import CMemoryShims
public import Synchronization

extension Extent {
    /// What an optimistic read came to.
    enum ReadOutcome {
        /// The bytes are copied and were there.
        case accepted
        /// Something was lost or changed meanwhile; the copy is worthless.
        case rejected
    }

    /// Copies `count` bytes at `offset` if they lie in one page, and checks that they were there; false where any of
    /// that is not so, whatever the reason. Inlined into clients, without a loop: what comes before and after a copy
    /// of a page is a tenth of it otherwise.
    @inlinable @inline(__always)
    func readWithinPage(
        _ offset: Int,
        _ count: Int,
        of base: UnsafeMutableRawPointer,
        into target: UnsafeMutableRawPointer
    ) -> Bool {
        let before = ExtentState(bits: state.load(ordering: .acquiring))
        // Allocated memory is freed by death under a reader's hands, so it is read under a pin.
        guard before.isReadable, isPaged else { return false }
        let page = offset &>> witnesses.pageShift
        guard count > 0, (offset &+ count &- 1) &>> witnesses.pageShift == page else { return false }
        // The witness is found before the copy, so that nothing but two loads comes after. Should a writer move it
        // meanwhile, the generation tells.
        let word = witnesses.word(page, of: base)
        cms_copy_optimistic(target, base + offset, count)
        atomicMemoryFence(ordering: .acquiring)
        if let word, cms_peek_u64(word) == 0 { return false }
        return before.isSameContent(as: ExtentState(bits: state.load(ordering: .relaxed)))
    }

    /// Copies `range` without a pin and without a system call, then checks that all of it was there.
    ///
    /// The copy touches the pages, so that the kernel sees them as used and keeps them longer: its second chance is
    /// the eviction policy here.
    ///
    /// `base` is the extent's own, handed in because the caller may have it at hand earlier.
    @inline(__always)
    func readOptimistically(
        _ range: Range<Int>,
        of base: UnsafeMutableRawPointer,
        into target: UnsafeMutableRawPointer
    ) -> ReadOutcome {
        let before = loadState()
        // Allocated memory is freed by death under a reader's hands, so it is read under a pin.
        guard before.isReadable, isPaged else { return .rejected }
        let source = base + range.lowerBound
        // The caller has checked the range, so that this neither overflows nor traps.
        let count = range.upperBound &- range.lowerBound
        let shift = witnesses.pageShift
        let pages = Range(
            uncheckedBounds: (range.lowerBound &>> shift, (range.upperBound &- 1) &>> shift &+ 1)
        )
        cms_copy_optimistic(target, source, count)
        cms_fence_acquire()
        guard witnesses.areAlive(base, pages: pages) else { return .rejected }
        guard before.isSameContent(as: reloadState()) else { return .rejected }
        return .accepted
    }

    /// Copies `range`, or answers false if the content is gone.
    @usableFromInline @inline(never)
    func read(_ range: Range<Int>, of base: UnsafeMutableRawPointer, into target: UnsafeMutableRawPointer) -> Bool {
        if !range.isEmpty, readOptimistically(range, of: base, into: target) == .accepted { return true }
        return readPinned(range, into: target)
    }

    /// Where optimism failed: the pin finds out whether anything is lost, and waits for whoever is writing.
    @inline(never)
    private func readPinned(_ range: Range<Int>, into target: UnsafeMutableRawPointer) -> Bool {
        guard !range.isEmpty else { return loadState().phase != .dead }
        guard pin(borrowing: true) else { return false }
        target.copyMemory(from: base + range.lowerBound, byteCount: range.count)
        unpin(borrowing: true)
        return true
    }
}

extension Extent {
    /// Fills a building extent and publishes it.
    func fill(with bytes: UnsafeRawBufferPointer) {
        if let source = bytes.baseAddress { base.copyMemory(from: source, byteCount: bytes.count) }
        publish()
    }
}
