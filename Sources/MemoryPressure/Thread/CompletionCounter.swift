//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import Synchronization

/// Counts something that others wait for. No lock, which a thread of a parent could hold in a child of fork.
package final class CompletionCounter: Sendable {
    private let value = Atomic<UInt32>(0)

    package init() {}

    /// How often ``advance()`` was called.
    package var count: Int { Int(value.load(ordering: .acquiring)) }

    /// Counts one more and wakes all who wait.
    package func advance() {
        value.add(1, ordering: .acquiringAndReleasing)
        withUnsafePointer(to: value) { cms_futex_wake_all($0) }
    }

    /// Waits until the count is above `seen`, or `nanoseconds` are over.
    package func wait(past seen: Int, nanoseconds: UInt64) {
        let begin = Platform.monotonicNanoseconds()
        while true {
            let now = value.load(ordering: .acquiring)
            let gone = Platform.monotonicNanoseconds() &- begin
            guard now <= seen, gone < nanoseconds else { return }
            withUnsafePointer(to: value) { cms_futex_wait($0, now, Int(min(nanoseconds - gone, 999_999_999))) }
        }
    }
}
