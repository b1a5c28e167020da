//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationNetworking
import MemoryCaching

/// Item 50 of Effective Objective-C 2.0 as a contract: look in the cache, else download, store at the cost of its
/// length. One implementation a kind of cache; what differs between them is what the demo compares.
protocol Fetcher: Sendable {
    /// Lends the thumbnail at `path` to `use`. True if it came out of the cache, and nobody waited for a download.
    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Bool

    /// What the cache holds and what has left it.
    var contents: CacheContents { get }
}

/// What a cache says of itself.
struct CacheContents: Sendable {
    var bytes = 0
    /// Whether the kernel may take bytes of it unasked.
    var isPurgeable = false
    /// Entries that left, by the cache's choice or by the kernel's.
    var evictions = 0
}

/// Downloads over HTTP with a bounded number of connections, and nothing cached on the way.
struct Downloader: Sendable {
    private let origin: URL
    private let session: URLSession

    init(port: UInt16, connections: Int) {
        origin = URL(string: "http://127.0.0.1:\(port)")!
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = connections
        session = URLSession(configuration: configuration)
    }

    /// The body of what the origin has at `path`.
    ///
    /// - Throws: what the session throws, or `URLError(.badServerResponse)` for a status other than 200.
    func data(at path: String) async throws -> Data {
        let (data, response) = try await session.data(from: URL(string: path, relativeTo: origin)!)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return data
    }
}

/// Which cache a run goes through.
enum Contender: String, Codable, CaseIterable, Sendable {
    case dictionary
    case foundationCache
    case memoryCache
    case purgeableCache
    case appleClasses

    /// How it is named to the reader.
    var title: String {
        switch self {
        case .dictionary: "Dictionary"
        case .foundationCache: "Foundation.NSCache"
        case .memoryCache: "MemoryCache"
        case .purgeableCache: "PurgeableCache"
        case .appleClasses: "NSCache, NSPurgeableData"
        }
    }

    /// Whether it is ours, which must survive, or a control.
    var isOurs: Bool { self != .dictionary && self != .foundationCache }

    func makeFetcher(_ downloader: Downloader) -> any Fetcher {
        switch self {
        case .dictionary: DictionaryFetcher(downloader: downloader)
        case .foundationCache: FoundationCacheFetcher(downloader: downloader)
        case .memoryCache: OwnFetcher.memoryCache(downloader)
        case .purgeableCache: OwnFetcher.purgeableCache(downloader)
        case .appleClasses: AppleClassesFetcher(downloader: downloader)
        }
    }
}
