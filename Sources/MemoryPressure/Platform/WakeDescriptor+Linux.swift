//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux) && !CACHE_PORTABLE
internal import CMemoryShims
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// An eventfd: readable from ``signal()`` until ``clear()``. Closed with the last reference.
final class WakeDescriptor: Sendable {
    let polled: PolledDescriptor

    init?() {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        polled = PolledDescriptor(descriptor: descriptor, events: cms_POLLIN)
    }

    deinit { close(polled.descriptor) }

    func signal() {
        var one: UInt64 = 1
        _ = write(polled.descriptor, &one, 8)
    }

    func clear() {
        var count: UInt64 = 0
        _ = read(polled.descriptor, &count, 8)
    }
}
#endif
