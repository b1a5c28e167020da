//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import HTTPTypes
import Hummingbird
import Logging
import MemoryCaching
import NIOCore

/// What is kept of a response.
struct CachedResponse: Codable, Sendable {
    var contentType: String
    var body: Data
}

/// Responses in purgeable memory, without a limit: pages that the kernel may take back.
struct CachedResponses: Sendable {
    let cache: CodedCache<String, CachedResponse>
    let metrics = CacheMetrics(cache: "responses")

    /// Responses that live for `lifetime`. They are fresh for a quarter of it; then one caller's request refreshes them
    /// in the background. For ten lifetimes more they answer where drawing fails or takes long.
    init(lifetime: Duration, logger: Logger) {
        var options = MemoryCacheOptions<String, [UInt8]>(
            expiresAfter: lifetime,
            lifetimeJitter: 0.1,
            staleWindow: lifetime * 3 / 4,
            keepsExpiredFor: lifetime * 10,
            softLoadTimeout: .milliseconds(200),
            loadTimeout: .seconds(10)
        )
        options.recordLoads(in: metrics)
        options.logLoads(to: logger, cache: "responses")
        cache = CodedCache(name: "responses", options: options, codec: PropertyListCodec())
    }

    /// The response to `request`, from the cache or else from `make`, which runs once however many browsers ask.
    func response(
        to request: Request,
        make: @escaping @Sendable () async throws -> CachedResponse
    ) async throws -> Response {
        Response(try await cache.value(forKey: request.uri.string, load: make))
    }
}

extension Response {
    /// A response with the body and the type of `cached`.
    init(_ cached: CachedResponse) {
        self.init(
            status: .ok,
            headers: [.contentType: cached.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: cached.body))
        )
    }
}
