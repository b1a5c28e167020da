//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Why an entry left a cache.
public enum RemovalCause: Sendable, Hashable, CaseIterable {
    /// The cache held more entries than its `countLimit`.
    case countLimit
    /// The costs added up to more than the `totalCostLimit`. Also told of a value that was refused: it is larger than
    /// the limit, or worth less than what it would have displaced.
    case costLimit
    /// The entry's lifetime was over.
    case expired
    /// Memory ran short in the process or in its container.
    case memoryPressure
    /// The value's content had been discarded, by the kernel or by its owner.
    case discarded
    /// A new value was set for the key.
    case replaced
    /// Somebody removed it. ``MemoryCache/removeAll()`` tells this of entries whose lifetime is over, too.
    case removed
}
