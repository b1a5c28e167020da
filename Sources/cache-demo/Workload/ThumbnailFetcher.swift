//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationNetworking

/// Item 50 of Effective Objective-C 2.0 as a contract: look in the cache, else download, store at the cost of its
/// length. One implementation a kind of cache; what differs between them is what the demo compares.
protocol ThumbnailFetcher: Sendable {
    /// Lends the thumbnail at `path` to `use`, from the cache or from the origin.
    func withThumbnail(at path: String, _ use: (UnsafeRawBufferPointer) -> Void) async throws -> Source

    /// What the cache holds and what has left it.
    var contents: CacheContents { get }
}

/// Where a thumbnail came from.
enum Source: Sendable {
    /// Out of the cache.
    case cache
    /// Downloaded for this request.
    case origin
    /// Downloaded for another request, which this one waited for.
    case joined
}

/// What a cache says of itself.
struct CacheContents: Sendable {
    var entries = 0
    var bytes = 0
    /// Whether the kernel may take bytes of it unasked.
    var isPurgeable = false
    /// Entries that left, by cause, without those that were replaced.
    var evictions: [String: Int] = [:]
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
