//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// How many forks lie between this process and the first.
///
/// A child of fork without exec has its parent's memory but none of its other threads. Whoever started a thread, or
/// holds descriptors that only make sense with it, keeps the number of that moment and looks whether it still holds.
package enum ForkGeneration {
    /// The number of this process.
    package static var current: Int { Int(cms_fork_generation()) }

    /// Stops the process because it wants what a thread of its parent held at the fork, which nobody will release.
    package static func stopForAbandonedLock() -> Never {
        fatalError(
            """
            swift-memory-cache: this process was forked while another thread of its parent was at work in this cache \
            or value, and that thread does not exist here. Make caches anew in the child of a fork.
            """
        )
    }

    /// Stops the process because it uses what only its parent can use.
    package static func stopForInheritance(of what: StaticString) -> Never {
        fatalError("swift-memory-cache: \(what) was made before this process was forked. Make it anew in the child.")
    }
}
