//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// An interest in a ``MemoryPressureSignal``; ends when cancelled or no longer kept.
public final class MemoryPressureObservation: Sendable {
    private let end: ForkSafeMutex<(@Sendable () -> Void)?>

    /// An observation that ends with `end`, called once.
    public init(onEnd end: @escaping @Sendable () -> Void) { self.end = ForkSafeMutex(end) }

    deinit { cancel() }

    /// Ends the observation; a second call does nothing.
    public func cancel() {
        let end = self.end.withLock { held in
            defer { held = nil }
            return held
        }
        end?()
    }
}
