//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Something that knows how short memory is and says when that may have changed.
///
/// A signal is read, not queued: whoever is woken reads ``level``, so that no change is lost and several in a row are
/// one.
public protocol MemoryPressureSignal: Sendable {
    /// How short memory is now, as far as this signal knows.
    var level: MemoryPressureLevel { get }

    /// The level without what this signal concludes from usage of memory, for code that watches usage itself: a cache
    /// that fills what it may must not take its own doing for pressure. The same as ``level`` unless a signal
    /// implements it.
    var levelBesideUsage: MemoryPressureLevel { get }

    /// Calls `changed`, on any thread, each time ``level`` may have changed, until the observation is cancelled or
    /// goes out of use.
    func observe(_ changed: @escaping @Sendable () -> Void) -> MemoryPressureObservation
}

extension MemoryPressureSignal {
    /// The same as ``level``.
    public var levelBesideUsage: MemoryPressureLevel { level }
}
