//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import HTTPTypes
import Hummingbird
import MemoryCaching
import NIOCore

/// Answers GET requests from a `PurgeableCache`, and puts what the routes answer into it.
///
/// Responses lie in pages that the kernel may take back at any moment, so the cache has no limit: it uses whatever
/// memory is left over, and the process is not killed for it. A hit is one copy from those pages into the buffer that
/// goes out.
struct CachingMiddleware<Context: RequestContext>: RouterMiddleware {
    let cache: PurgeableCache<String>

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.method == .get else { return try await next(request, context) }
        let key = request.uri.string
        if let response = stored(for: key) { return response }

        let response = try await next(request, context)
        guard response.status == .ok, let length = response.body.contentLength, length > 0 else { return response }
        // The body in one buffer, and the copy that is stored: announced, because responses may be large and many at
        // once.
        let body = try await MemoryReserve.withFree(bytes: 2 * length) { _ in try await response.body.collect() }
        store(response.headers[.contentType] ?? "", body, for: key)
        var fresh = Response(status: .ok, headers: response.headers, body: ResponseBody(byteBuffer: body))
        fresh.headers[.cacheState] = "miss"
        return fresh
    }

    /// The response as it was stored: a byte for the length of the content type, the content type, the body.
    private func stored(for key: String) -> Response? {
        cache.withBytes(forKey: key) { span in
            span.withUnsafeBytes { bytes in
                let start = 1 + Int(bytes[0])
                return Response(
                    status: .ok,
                    headers: [
                        .contentType: String(decoding: bytes[1..<start], as: UTF8.self), .cacheState: "hit",
                    ],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes[start...]))
                )
            }
        }
    }

    private func store(_ contentType: String, _ body: ByteBuffer, for key: String) {
        guard contentType.utf8.count < 256 else { return }
        var bytes: [UInt8] = [UInt8(contentType.utf8.count)]
        bytes += contentType.utf8
        bytes += body.readableBytesView
        cache.setBytes(bytes, forKey: key)
    }
}

extension HTTPField.Name {
    /// Whether the response came from the cache.
    static let cacheState = HTTPField.Name("X-Cache")!
}

extension ResponseBody {
    /// The whole body in one buffer.
    func collect() async throws -> ByteBuffer {
        let sink = BufferWriter()
        try await write(sink)
        return sink.buffer
    }
}

/// Writes a body into memory.
private final class BufferWriter: ResponseBodyWriter {
    private(set) var buffer = ByteBuffer()

    func write(_ part: ByteBuffer) async throws {
        var part = part
        buffer.writeBuffer(&part)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
