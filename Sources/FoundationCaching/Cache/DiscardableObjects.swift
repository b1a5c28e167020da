//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import MemoryCaching
import PurgeableMemory

extension ContentHooks where Value == AnyObject {
    /// How the engine treats objects with discardable content, of Apple's protocol or of the native one.
    ///
    /// One set of closures for all caches, so that an empty cache pays nothing for them.
    static let discardableObjects = ContentHooks(
        isDiscardable: { ClassTraits.of($0).isDiscardable },
        isDiscarded: { object in
            if let object = object as? any NSDiscardableContent { return object.isContentDiscarded() }
            return (object as? any DiscardableContent)?.isContentDiscarded ?? false
        },
        discardIfPossible: { object in
            if let object = object as? any NSDiscardableContent { return object.discardContentIfPossible() }
            (object as? any DiscardableContent)?.discardContentIfPossible()
        },
        isIdentical: { $0 === $1 }
    )
}

#endif
