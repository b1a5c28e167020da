//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// What every platform has but Linux, and what Linux is built with by CACHE_PORTABLE to test this file: a pipe to wake
// by, and no news of memory pressure. `ManualPressureSignal` works everywhere.
#if !os(Linux) || CACHE_PORTABLE
internal import CMemoryShims

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A pipe: readable from ``signal()`` until ``clear()``. Closed with the last reference.
final class WakeDescriptor: Sendable {
    let polled: PolledDescriptor
    private let writer: Int32

    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        polled = PolledDescriptor(descriptor: ends[0], events: cms_POLLIN)
        writer = ends[1]
    }

    deinit {
        close(polled.descriptor)
        close(writer)
    }

    /// A pipe that is full is readable already.
    func signal() {
        var one: UInt8 = 1
        _ = write(writer, &one, 1)
    }

    func clear() {
        var buffer = [UInt8](repeating: 0, count: 512)
        while read(polled.descriptor, &buffer, buffer.count) > 0 {}
    }
}

/// Nothing tells of memory pressure here.
enum PressureSources {
    static func open(_ files: SystemFiles) -> (sources: [any PressureSource], isOff: Bool) {
        (sources: [], isOff: PressureWatch.instruction(files.environment) == .off)
    }
}
#endif
