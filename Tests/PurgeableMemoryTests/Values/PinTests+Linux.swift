//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Testing

@testable import PurgeableMemory

/// What a pin is worth while the kernel reclaims: pages asked for with `MADV_PAGEOUT`, at once and for certain.
///
/// A pin is a read-modify-write that changes nothing, which an optimiser may well take for a read; so these mean most
/// in a release build.
@Suite struct PinTests {
    @Test(arguments: [1, 3, 64, 512]) func aPinOutlivesReclaim(pages: Int) {
        let content = pattern(pages * PageSize.base)
        let value = PurgeableBytes(copying: content)
        #expect(value.beginContentAccess())
        pageOut(value)
        #expect(value.copyBytes() == content)
        #expect(value.withBytes { $0.withUnsafeBytes { $0.elementsEqual(content) } } == true)
        value.endContentAccess()
    }

    @Test(arguments: [1, 3, 64]) func aWarmValueOutlivesReclaim(pages: Int) {
        let content = pattern(pages * PageSize.base)
        let value = PurgeableBytes(copying: content)
        #expect(value.withBytes { $0.byteCount } == content.count)
        pageOut(value)
        #expect(value.withBytes { $0.withUnsafeBytes { $0.elementsEqual(content) } } == true)
    }

    /// The tests above are worth something only if reclaim takes what is not pinned.
    @Test func reclaimTakesWhatIsNotPinned() {
        let values = (0..<64).map { _ in PurgeableBytes(copying: pattern(PageSize.base)) }
        for value in values { pageOut(value) }
        let gone = values.count { !$0.beginContentAccess() }
        #expect(gone > 32)
        for value in values where value.isKnownToBeThere { value.endContentAccess() }
    }

    private func pageOut(_ value: PurgeableBytes) {
        let base = UnsafeMutableRawPointer(mutating: value.uncheckedBytes.baseAddress!)
        _ = PageSystem.live.advise(base, PageSize.roundedUp(value.byteCount), .pageOut)
    }
}
#endif
