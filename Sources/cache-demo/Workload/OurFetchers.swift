//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization

/// The first lines of the README: ordinary values, no limit, and one load for all who ask.
final class MemoryCacheFetcher: Fetcher {
    private let pages = MemoryCache<String, [UInt8]>(name: "pages") { _, bytes in bytes.count }
    private let downloader: Downloader

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool {
        let wasThere = pages.contains(path)
        let loaded = Flag()
        let bytes = try await pages.value(forKey: path) { [downloader] in
            loaded.raise()
            return [UInt8](try await downloader.data(at: path))
        }
        bytes.withUnsafeBytes(use)
        return wasThere && !loaded.isRaised
    }

    var contents: CacheContents { CacheContents(pages.statistics, isPurgeable: false) }
}

/// The same in pages that the kernel may take.
final class PurgeableCacheFetcher: Fetcher {
    private let pages = PurgeableCache<String>(name: "pages")
    private let downloader: Downloader

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool {
        let wasThere = pages.contains(path)
        let loaded = Flag()
        let bytes = try await pages.bytes(forKey: path) { [downloader] in
            loaded.raise()
            return [UInt8](try await downloader.data(at: path))
        }
        bytes.withUnsafeBytes(use)
        return wasThere && !loaded.isRaised
    }

    var contents: CacheContents { CacheContents(pages.statistics, isPurgeable: true) }
}

extension CacheContents {
    /// What one of ours says of itself.
    init(_ statistics: CacheStatistics, isPurgeable: Bool) {
        self.init(bytes: statistics.totalCost, isPurgeable: isPurgeable, evictions: statistics.evictions)
    }
}

/// Raised once, by whichever thread.
private final class Flag: Sendable {
    private let value = Atomic(false)

    func raise() { value.store(true, ordering: .relaxed) }
    var isRaised: Bool { value.load(ordering: .relaxed) }
}
