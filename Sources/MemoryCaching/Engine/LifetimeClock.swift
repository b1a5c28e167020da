//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Nanoseconds since some moment of its own: what lifetimes are measured by.
@usableFromInline
package struct LifetimeClock: Sendable {
    /// Nanoseconds since the clock was made; never decreases.
    @usableFromInline package let nanoseconds: @Sendable () -> Int64

    /// Reads `clock`, counting from now.
    package init(_ clock: any Clock<Duration>) {
        self = clock is ContinuousClock ? .continuous : Self.opening(clock)
    }

    /// The clock that runs on while the machine sleeps, one for all caches. Opened by its type, so that reading it is
    /// no call through a table of witnesses.
    package static let continuous = opening(ContinuousClock())

    private init(nanoseconds: @escaping @Sendable () -> Int64) { self.nanoseconds = nanoseconds }

    private static func opening<C: Clock>(_ clock: C) -> LifetimeClock where C.Duration == Duration {
        let start = clock.now
        return LifetimeClock { start.duration(to: clock.now).saturatedNanoseconds }
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to what 64 bits hold (292 years).
    @usableFromInline
    package var saturatedNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }
}
