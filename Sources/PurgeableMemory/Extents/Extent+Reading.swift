//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import CMemoryShims

extension Extent {
    /// What an optimistic read came to.
    enum ReadOutcome {
        /// The bytes are copied and were there.
        case accepted
        /// Something was lost or changed meanwhile; the copy is worthless.
        case rejected
    }

    /// Copies `range` without a pin and without a system call, then checks that all of it was there.
    ///
    /// The copy touches the pages, so that the kernel sees them as used and keeps them longer: its second chance is
    /// the eviction policy here.
    @inline(__always)
    func readOptimistically(_ range: Range<Int>, into target: UnsafeMutableRawPointer) -> ReadOutcome {
        let before = loadState()
        // Allocated memory is freed by death under a reader's hands, so it is read under a pin.
        guard before.isReadable, isPaged else { return .rejected }
        let source = base + range.lowerBound
        let shift = witnesses.pageShift
        let first = range.lowerBound &>> shift
        let last = (range.upperBound &- 1) &>> shift
        if first == last {
            // One page: find the witness before the copy, so that nothing but two loads comes after. Should a writer
            // move it meanwhile, the generation tells.
            let word = witnesses.word(first, of: base)
            cms_copy_optimistic(target, source, range.count)
            cms_fence_acquire()
            if let word, cms_peek_u64(word) == 0 { return .rejected }
        } else {
            cms_copy_optimistic(target, source, range.count)
            cms_fence_acquire()
            guard witnesses.areAlive(base, pages: Range(uncheckedBounds: (first, last &+ 1))) else { return .rejected }
        }
        guard before.isSameContent(as: reloadState()) else { return .rejected }
        return .accepted
    }

    /// Copies `range`, or answers false if the content is gone.
    @inline(__always)
    func read(_ range: Range<Int>, into target: UnsafeMutableRawPointer) -> Bool {
        if !range.isEmpty, readOptimistically(range, into: target) == .accepted { return true }
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
