//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// Content that conforms to the protocol itself and makes its pixels anew.
class Thumbnail: NSObject, NSDiscardableContent {
    let name: String
    private var pixels: [UInt8]?
    private var accessCount = 1

    init(name: String) {
        self.name = name
        self.pixels = Array(name.utf8)
        super.init()
    }

    func beginContentAccess() -> Bool {
        if pixels == nil {
            pixels = Array(name.utf8)
        }
        accessCount += 1
        return true
    }

    func endContentAccess() {
        accessCount -= 1
    }

    func discardContentIfPossible() {
        if accessCount == 0 {
            pixels = nil
        }
    }

    func isContentDiscarded() -> Bool {
        return pixels == nil
    }
}

/// A subclass of the cache, its own delegate.
class ThumbnailCache: NSCache<NSString, Thumbnail>, NSCacheDelegate, @unchecked Sendable {
    private(set) var evicted: [String] = []

    override init() {
        super.init()
        name = "Thumbnails"
        countLimit = 3
        evictsObjectsWithDiscardedContent = false
        delegate = self
    }

    subscript(name: String) -> Thumbnail? {
        get { object(forKey: name as NSString) }
        set {
            if let newValue {
                setObject(newValue, forKey: name as NSString, cost: name.utf8.count)
            } else {
                removeObject(forKey: name as NSString)
            }
        }
    }

    func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) {
        if let thumbnail = obj as? Thumbnail {
            evicted.append(thumbnail.name)
        }
    }
}
