//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a source has to say when its descriptor has news.
enum PressureNews: Sendable, Equatable {
    /// Nothing that matters.
    case nothing
    /// Pressure at this level, whatever usage says.
    case level(MemoryPressureLevel)
    /// Somebody came near a limit, perhaps with page cache alone: pressure at this level if usage is beyond the mark.
    case hint(MemoryPressureLevel)
    /// The source has gone.
    case gone
}

/// One thing that the kernel, or systemd, tells of memory pressure by.
protocol PressureSource: AnyObject, Sendable {
    /// For people: what is watched.
    var name: String { get }
    /// What to wait for. Open for as long as the source is kept.
    var polled: PolledDescriptor { get }
    /// How long its news holds a level, in nanoseconds: until after its next could have come.
    var hold: UInt64 { get }
    /// Consumes the news that `polled` came with.
    func take(_ polled: PolledDescriptor) -> PressureNews
}
