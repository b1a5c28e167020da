//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import Synchronization

/// A control: what everybody writes first, a dictionary behind a lock. It keeps everything.
final class DictionaryFetcher: Fetcher {
    private let downloader: Downloader
    private let values = Mutex<[String: Data]>([:])
    private let bytes = Atomic(0)

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool {
        if let cached = values.withLock({ $0[path] }) {
            cached.withUnsafeBytes(use)
            return true
        }
        let data = try await downloader.data(at: path)
        let isNew = values.withLock { $0.updateValue(data, forKey: path) == nil }
        if isNew { bytes.wrappingAdd(data.count, ordering: .relaxed) }
        data.withUnsafeBytes(use)
        return false
    }

    var contents: CacheContents { CacheContents(bytes: bytes.load(ordering: .relaxed)) }
}

/// A control: the NSCache that Foundation has on Linux, used as Item 50 says.
///
/// It does not tell how many bytes it holds. It has no limit here and evicts nothing, so what was stored is what it
/// holds.
final class FoundationCacheFetcher: Fetcher {
    private let downloader: Downloader
    // Foundation's class is documented as safe for threads, but not declared Sendable.
    private nonisolated(unsafe) let cache = Foundation.NSCache<NSString, NSData>()
    private let bytes = Atomic(0)
    private let paths = Mutex<Set<String>>([])

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool {
        if let cached = cache.object(forKey: path as NSString) {
            use(UnsafeRawBufferPointer(start: cached.bytes, count: cached.length))
            return true
        }
        let data = try await downloader.data(at: path)
        cache.setObject(data as NSData, forKey: path as NSString, cost: data.count)
        if paths.withLock({ $0.insert(path).inserted }) { bytes.wrappingAdd(data.count, ordering: .relaxed) }
        data.withUnsafeBytes(use)
        return false
    }

    var contents: CacheContents { CacheContents(bytes: bytes.load(ordering: .relaxed)) }
}

/// One of ours: asks for the page, and knows whether it loaded it itself.
final class OwnFetcher: Fetcher {
    typealias Load = @Sendable () async throws -> [UInt8]
    private let downloader: Downloader
    private let contains: @Sendable (String) -> Bool
    private let page: @Sendable (String, @escaping Load) async throws -> [UInt8]
    private let held: @Sendable () -> CacheContents

    private init(
        _ downloader: Downloader,
        contains: @escaping @Sendable (String) -> Bool,
        page: @escaping @Sendable (String, @escaping Load) async throws -> [UInt8],
        held: @escaping @Sendable () -> CacheContents
    ) {
        (self.downloader, self.contains, self.page, self.held) = (downloader, contains, page, held)
    }

    /// The first lines of the README: ordinary values, no limit, and one load for all who ask.
    static func memoryCache(_ downloader: Downloader) -> OwnFetcher {
        let pages = MemoryCache<String, [UInt8]>(name: "pages") { _, bytes in bytes.count }
        return OwnFetcher(
            downloader,
            contains: { pages.contains($0) },
            page: { try await pages.value(forKey: $0, load: $1) },
            held: { CacheContents(pages.statistics, isPurgeable: false) }
        )
    }

    /// The same in pages that the kernel may take.
    static func purgeableCache(_ downloader: Downloader) -> OwnFetcher {
        let pages = PurgeableCache<String>(name: "pages")
        return OwnFetcher(
            downloader,
            contains: { pages.contains($0) },
            page: { try await pages.bytes(forKey: $0, load: $1) },
            held: { CacheContents(pages.statistics, isPurgeable: true) }
        )
    }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool {
        let wasThere = contains(path)
        let loaded = Flag()
        let bytes = try await page(path) { [downloader] in
            loaded.raise()
            return [UInt8](try await downloader.data(at: path))
        }
        bytes.withUnsafeBytes(use)
        return wasThere && !loaded.isRaised
    }

    var contents: CacheContents { held() }
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
