//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization

/// A control: what everybody writes first, a dictionary behind a lock. It keeps everything.
final class DictionaryFetcher: ThumbnailFetcher {
    private struct State {
        var values: [String: Data] = [:]
        var bytes = 0
    }

    private let downloader: Downloader
    private let state = Mutex(State())

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Source {
        if let cached = state.withLock({ $0.values[path] }) {
            cached.withUnsafeBytes(use)
            return .cache
        }
        let data = try await downloader.data(at: path)
        state.withLock { state in
            if state.values.updateValue(data, forKey: path) == nil { state.bytes += data.count }
        }
        data.withUnsafeBytes(use)
        return .origin
    }

    var contents: CacheContents { state.withLock { CacheContents(entries: $0.values.count, bytes: $0.bytes) } }
}

/// A control: the NSCache that Foundation has on Linux, used as Item 50 says.
///
/// It tells neither how many entries nor how many bytes it holds. It has no limit here and evicts nothing, so what was
/// stored is what it holds.
final class FoundationCacheFetcher: ThumbnailFetcher {
    private struct Stored {
        var paths: Set<String> = []
        var bytes = 0
    }

    private let downloader: Downloader
    // Foundation's class is documented as safe for threads, but not declared Sendable.
    private nonisolated(unsafe) let cache = Foundation.NSCache<NSString, NSData>()
    private let stored = Mutex(Stored())

    init(downloader: Downloader) { self.downloader = downloader }

    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Source {
        if let cached = cache.object(forKey: path as NSString) {
            use(UnsafeRawBufferPointer(start: cached.bytes, count: cached.length))
            return .cache
        }
        let data = try await downloader.data(at: path)
        cache.setObject(data as NSData, forKey: path as NSString, cost: data.count)
        stored.withLock { if $0.paths.insert(path).inserted { $0.bytes += data.count } }
        data.withUnsafeBytes(use)
        return .origin
    }

    var contents: CacheContents { stored.withLock { CacheContents(entries: $0.paths.count, bytes: $0.bytes) } }
}
