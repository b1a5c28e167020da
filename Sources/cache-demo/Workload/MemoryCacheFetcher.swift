//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import PurgeableMemory
import Synchronization

/// Ours, in native clothes: one call looks the thumbnail up and, where it is missing, downloads it once however many
/// ask. Values lie in pages that the kernel may take back; a copy of one is all of it or nothing.
///
/// No limit is set: the cache finds out for itself how much memory there is.
final class MemoryCacheFetcher: ThumbnailFetcher {
    private let thumbnails = MemoryCache<URL, PurgeableBytes>(name: "thumbnails") { _, bytes in bytes.byteCount }
    private let downloader: Downloader

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at url: URL, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Source {
        let wasThere = thumbnails.contains(url)
        let loaded = Flag()
        while true {
            let thumbnail = try await thumbnails.value(forKey: url) { [downloader] in
                loaded.raise()
                return PurgeableBytes(copying: try await downloader.data(from: url))
            }
            if let bytes = thumbnail.copyBytes() {
                bytes.withUnsafeBytes(use)
                return loaded.isRaised ? .origin : wasThere ? .cache : .joined
            }
            // The kernel took it just now. The cache sees that at the next look, and loads it anew.
        }
    }

    var contents: CacheContents { CacheContents(thumbnails.statistics) }
}

extension CacheContents {
    /// What one of ours says of itself.
    init(_ statistics: CacheStatistics) {
        entries = statistics.count
        bytes = statistics.totalCost
        isPurgeable = true
        evictions = [
            "limit": statistics.removals(.countLimit) + statistics.removals(.costLimit),
            "expired": statistics.removals(.expired),
            "pressure": statistics.removals(.memoryPressure),
            "discarded": statistics.removals(.discarded),
        ]
    }
}

/// Says across tasks that something has happened.
private final class Flag: Sendable {
    private let value = Atomic(false)

    func raise() { value.store(true, ordering: .relaxed) }
    var isRaised: Bool { value.load(ordering: .relaxed) }
}
