//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import PurgeableMemory

// Foundation has a class of this name too: the scoped import says which one is meant, in this file alone.
import class FoundationCaching.NSCache

/// Ours, in Apple's clothes: Item 50's fetcher word for word, but for the answer of `beginContentAccess()`, which the
/// book ignores. It says whether the kernel has taken the bytes; to read them without asking is to read zeros.
final class AppleClassesFetcher: Fetcher {
    // NSCache is safe for threads; NSPurgeableData, like every mutable object, is not declared Sendable. These are
    // never changed once they are in the cache.
    private nonisolated(unsafe) let cache = NSCache<NSString, NSPurgeableData>()
    private let downloader: Downloader

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool {
        if let cached = cache.object(forKey: path as NSString), cached.beginContentAccess() {
            // Accessed: the kernel leaves the bytes alone.
            use(UnsafeRawBufferPointer(start: cached.bytes, count: cached.length))
            cached.endContentAccess()
            return true
        }
        // Absent, or there and gone.
        let thumbnail = NSPurgeableData(data: try await downloader.data(at: path))
        cache.setObject(thumbnail, forKey: path as NSString, cost: thumbnail.length)
        // A purgeable object is born accessed, as one that somebody still needs.
        use(UnsafeRawBufferPointer(start: thumbnail.bytes, count: thumbnail.length))
        thumbnail.endContentAccess()
        return false
    }

    var contents: CacheContents { CacheContents(cache.statistics, isPurgeable: true) }
}
