//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Synchronization

/// An object whose content is there until somebody discards it.
package final class Page: DiscardableContent, Sendable {
    private let isDiscarded = Atomic(false)
    package init() {}
    package func beginContentAccess() -> Bool { !isContentDiscarded }
    package func endContentAccess() {}
    package func discardContentIfPossible() { isDiscarded.store(true, ordering: .relaxed) }
    package var isContentDiscarded: Bool { isDiscarded.load(ordering: .relaxed) }
}
