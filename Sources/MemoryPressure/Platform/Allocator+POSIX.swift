//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

// The allocator of the process, whichever it is.
extension Platform {
    /// Asks the allocator to return its free memory to the system: by its own call, where another one than the C
    /// library's is known to be in use.
    package static func trimAllocator() { cms_allocator_trim() }

    /// Takes part in the trims of other threads since the last call, where each returns only what its own thread has
    /// freed.
    package static func joinAllocatorTrim() { cms_allocator_join_trim() }

    /// Whether a trim returns memory whichever thread has allocated and freed it.
    package static var allocatorTrimsAllThreads: Bool { cms_allocator_trims_all_threads() != 0 }

    /// Whose `malloc` this process uses, for people.
    package static var allocatorName: String {
        switch cms_allocator() {
        case CMS_SYSTEM_ALLOCATOR: "system"
        case CMS_JEMALLOC: "jemalloc"
        case CMS_TCMALLOC: "tcmalloc"
        case CMS_MIMALLOC: "mimalloc"
        default: "unknown"
        }
    }

    /// Bytes that the allocator has given out and bytes that lie free in its heaps; nil where it cannot say.
    static func allocatorUsage() -> (live: Int, unused: Int)? {
        var (live, unused) = (0, 0)
        guard cms_allocator_usage(&live, &unused) != 0 else { return nil }
        return (live, unused)
    }
}
