//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The class of "Effective Objective-C 2.0", Item 50, in Swift: downloads go into a cache as purgeable data.
final class NetworkDataStore {
    private let cache = NSCache<NSURL, NSPurgeableData>()
    private let download: (URL) -> Data
    private(set) var downloadCount = 0
    private(set) var receivedByteCount = 0

    init(download: @escaping (URL) -> Data) {
        self.download = download
        // Cache a maximum of 100 URLs and of 5 MB.
        cache.countLimit = 100
        cache.totalCostLimit = 5 * 1024 * 1024
    }

    func downloadData(for url: URL) {
        if let cachedData = cache.object(forKey: url as NSURL), cachedData.beginContentAccess() {
            // Cache hit. The data stays until the access ends.
            use(cachedData as Data)
            cachedData.endContentAccess()
            return
        }
        // Cache miss, or purged.
        downloadCount += 1
        let purgeableData = NSPurgeableData(data: download(url))
        cache.setObject(purgeableData, forKey: url as NSURL, cost: purgeableData.length)
        // No beginContentAccess: the data is born accessed.
        use(purgeableData as Data)
        purgeableData.endContentAccess()
    }

    func purge(_ url: URL) {
        cache.object(forKey: url as NSURL)?.discardContentIfPossible()
    }

    private func use(_ data: Data) {
        receivedByteCount += data.count
    }
}
