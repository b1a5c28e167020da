//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How short memory is.
///
/// Levels compare by severity. A cache keeps all it holds at ``normal``: reaching `normal` never evicts anything.
public enum MemoryPressureLevel: Int, Sendable, Comparable, CaseIterable {
    /// There is room.
    case normal
    /// Memory runs short: stop growing, let go of what is worth least.
    case warning
    /// Memory is about to be refused to somebody: let go of all that can be done without.
    case critical

    /// Orders levels by severity.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
