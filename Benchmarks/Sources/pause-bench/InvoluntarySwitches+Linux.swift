//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How often the kernel has taken threads off their core though they could have run on (getrusage(2)).
struct InvoluntarySwitches: Equatable {
    let ofThread = of(1)  // RUSAGE_THREAD, which needs _GNU_SOURCE
    let ofProcess = of(RUSAGE_SELF.rawValue)

    private static func of(_ who: Int32) -> Int {
        var usage = rusage()
        getrusage(who, &usage)
        return usage.ru_nivcsw
    }
}

/// Nanoseconds on a clock that is not set.
@inline(__always)
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
