// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Apple's idiom for purgeable data in a cache, as it compiles on macOS, on Linux.
import Foundation

import class FoundationCaching.NSCache
import class FoundationCaching.NSPurgeableData

func download(_ url: NSURL) -> Data { Data(url.description.utf8) }
func use(_ data: NSPurgeableData) { precondition(data.length > 0) }

// snippet.show
final class Downloads {
    private let cache = NSCache<NSURL, NSPurgeableData>()

    init() { cache.totalCostLimit = 5 << 20 }

    func show(_ url: NSURL) {
        if let data = cache.object(forKey: url), data.beginContentAccess() {
            use(data)
            data.endContentAccess()
        } else {
            let data = NSPurgeableData(data: download(url))  // born accessed
            cache.setObject(data, forKey: url, cost: data.length)
            use(data)
            data.endContentAccess()  // may be discarded from here on
        }
    }
}
// snippet.hide

let downloads = Downloads()
for _ in 0..<2 { downloads.show(NSURL(string: "https://swift.org")!) }
