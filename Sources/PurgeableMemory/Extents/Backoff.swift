//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import CMemoryShims

/// Waiting for another thread's transition, which takes microseconds: spin, then yield, then sleep a little.
package struct Backoff {
    private var rounds = 0

    package init() {}

    /// Passes some time, more each call.
    package mutating func pause() {
        rounds += 1
        if rounds <= 32 {
            cms_spin_hint()
        } else if rounds <= 64 {
            cms_yield()
        } else {
            // A mutation may run user code for long; a twentieth of a millisecond costs no core.
            cms_sleep_nanoseconds(50_000)
        }
    }
}
