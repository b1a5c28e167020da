//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Watches how short memory is.
public final class MemoryPressureMonitor: Sendable {
    /// The monitor of this process's real memory.
    public static let shared = MemoryPressureMonitor(signals: [])

    private let signals: [any MemoryPressureSignal]

    /// A monitor that listens to `signals` alone: the level is the highest of theirs.
    public init(signals: [any MemoryPressureSignal]) { self.signals = signals }

    /// How short memory is now.
    public var level: MemoryPressureLevel { signals.map(\.level).max() ?? .normal }
}
