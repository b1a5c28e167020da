//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !os(Linux) || CACHE_PORTABLE
extension PageSystem {
    /// No pages that the kernel may take: every mapping is refused, so that all values live in ordinary memory.
    package static let live = PageSystem(
        map: { _ in (nil, notSupported) },
        unmap: { _, _ in notSupported },
        advise: { _, _, _ in notSupported },
        residency: { _, _, _ in notSupported }
    )

    /// ENOSYS, whatever the platform calls it; only its being nonzero matters.
    private static let notSupported: CInt = 38
}
#endif
