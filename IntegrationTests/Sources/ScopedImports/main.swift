//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

import class FoundationCaching.NSCache
import protocol FoundationCaching.NSCacheDelegate
import class FoundationCaching.NSPurgeableData

final class Delegate: NSObject, NSCacheDelegate {
    var count = 0
    func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) { count += 1 }
}

let cache = NSCache<NSString, NSPurgeableData>()
let delegate = Delegate()
cache.delegate = delegate
let data = NSPurgeableData(data: Data("content".utf8))
cache.setObject(data, forKey: "key", cost: data.length)
data.endContentAccess()
cache.removeObject(forKey: "key")
guard delegate.count == 1, data.isContentDiscarded() else { exit(EXIT_FAILURE) }
print("scoped imports: this package's classes")
