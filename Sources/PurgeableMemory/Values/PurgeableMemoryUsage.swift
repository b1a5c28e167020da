//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
/// How much memory the process's purgeable values take, by what the kernel may do with it.
///
/// Volatile bytes are part of the resident size that `ps` and `top` show, although they are as good as free: the
/// kernel counts them as inactive file memory, and takes them before it kills anybody.
public struct PurgeableMemoryUsage: Sendable, Hashable {
    /// Bytes that the kernel may take at any moment. Some of them it may have taken already; the next access or census
    /// of the value tells.
    public var volatileBytes: Int

    /// Bytes that the kernel must keep for now, because they are being accessed or were accessed lately.
    public var pinnedBytes: Int

    /// Bytes that only an eviction frees: values of less than a page, and values whose pages the kernel refused to
    /// make volatile (locked memory, an old kernel, a seccomp filter).
    public var ordinaryBytes: Int

    /// The usage of this process now. O(1).
    public static func current() -> PurgeableMemoryUsage {
        let usage = PurgeablePool.shared.usage
        return PurgeableMemoryUsage(
            volatileBytes: usage.volatileByteCount,
            pinnedBytes: usage.pinnedByteCount,
            ordinaryBytes: usage.ordinaryByteCount
        )
    }
}
