//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
public import MemoryPressure

/// What the caches of the process did about a level of memory pressure: one for each time that they let something go.
///
/// ```swift
/// MemoryPressureReaction.setHandler { reaction in logger.notice("\(reaction)") }
/// ```
public struct MemoryPressureReaction: Sendable, Hashable, CustomStringConvertible {
    /// The level that was reached.
    public let level: MemoryPressureLevel
    /// Bytes that had to go to bring all caches to the part that the level leaves them.
    public let bytesAsked: Int
    /// Bytes that went, by given costs or by measured size.
    public let bytesFreed: Int
    /// How long that took the thread that brought the news.
    public let duration: Duration

    /// One line for a log.
    public var description: String {
        let milliseconds = duration.saturatedNanoseconds / 1_000_000
        return "memory pressure \(level): asked for \(bytesAsked) bytes, freed \(bytesFreed) in \(milliseconds) ms"
    }

    private static let handler = ForkSafeMutex<(@Sendable (MemoryPressureReaction) -> Void)?>(nil)

    /// Has every reaction of the process told to `handler`, on the thread that reacted, with no lock held; nil for
    /// nobody. There is one handler; a second call replaces it.
    public static func setHandler(_ handler: (@Sendable (MemoryPressureReaction) -> Void)?) {
        Self.handler.withLock { $0 = handler }
    }

    static func report(_ reaction: MemoryPressureReaction) {
        let handler = Self.handler.withLock { $0 }
        handler?(reaction)
    }
}

/// What the governor has done so far, added up.
package struct PressureStatistics: Sendable, Equatable {
    /// Reactions to a level, and what they asked, freed and took.
    package var reactions = 0
    package var bytesAsked = 0
    package var bytesFreed = 0
    package var reactionTime = Duration.zero
    /// Trims of the allocator, what usage fell by and what they took.
    package var trims = 0
    package var bytesTrimmed = 0
    package var trimNanoseconds: UInt64 = 0
    /// How often an insertion had to look at usage.
    package var looks = 0

    mutating func add(_ reaction: MemoryPressureReaction) {
        reactions += 1
        bytesAsked = bytesAsked.saturatingAdding(reaction.bytesAsked)
        bytesFreed = bytesFreed.saturatingAdding(reaction.bytesFreed)
        reactionTime += reaction.duration
    }
}
