//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The page layer's system calls, replaceable one by one.
///
/// Every call answers 0 or the errno. Tests put refusals here (a locked process, an old kernel, a seccomp filter, an
/// exhausted address space), because each of them is ordinary somewhere and none can be provoked reliably.
package struct PageSystem: Sendable {
    /// Maps `byteCount` bytes of private anonymous memory that reads as zero, or says why not.
    package var map: @Sendable (_ byteCount: Int) -> (base: UnsafeMutableRawPointer?, error: CInt)

    /// Unmaps what ``map`` gave.
    package var unmap: @Sendable (_ base: UnsafeMutableRawPointer, _ byteCount: Int) -> CInt

    /// Tells the kernel what to do with whole pages.
    package var advise: @Sendable (_ base: UnsafeMutableRawPointer, _ byteCount: Int, _ advice: PageAdvice) -> CInt

    /// Writes one byte a page; bit 0 says whether the page is in memory. Never touches the pages.
    package var residency:
        @Sendable (
            _ base: UnsafeMutableRawPointer, _ byteCount: Int, _ answer: UnsafeMutablePointer<UInt8>
        ) -> CInt

    /// Whether the process may map only so much (RLIMIT_AS, RLIMIT_DATA).
    package var limitsMapping: @Sendable () -> Bool

    /// A set of system calls.
    package init(
        map: @escaping @Sendable (Int) -> (base: UnsafeMutableRawPointer?, error: CInt),
        unmap: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> CInt,
        advise: @escaping @Sendable (UnsafeMutableRawPointer, Int, PageAdvice) -> CInt,
        residency: @escaping @Sendable (UnsafeMutableRawPointer, Int, UnsafeMutablePointer<UInt8>) -> CInt,
        limitsMapping: @escaping @Sendable () -> Bool = { false }
    ) {
        self.map = map
        self.unmap = unmap
        self.advise = advise
        self.residency = residency
        self.limitsMapping = limitsMapping
    }
}

/// What the kernel may be told about pages.
///
/// - SeeAlso: madvise(2).
package enum PageAdvice: Sendable, Hashable {
    /// The kernel may take each clean page back when it likes; a write takes the permission back (`MADV_FREE`).
    case free
    /// The content is gone now, and the memory with it; the pages read as zero (`MADV_DONTNEED`).
    case discard
    /// 2 MiB pages are welcome (`MADV_HUGEPAGE`).
    case hugePages
    /// Only base pages, so that one value's pages are nobody else's (`MADV_NOHUGEPAGE`).
    case basePages
    /// A child of fork(2) finds zeros here (`MADV_WIPEONFORK`).
    case wipeOnFork
    /// Core dumps leave it out (`MADV_DONTDUMP`).
    case omitFromCoreDump
    /// Reclaim now, as memory pressure would (`MADV_PAGEOUT`); tests squeeze with it.
    case pageOut
}
