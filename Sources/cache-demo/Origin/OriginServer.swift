//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import FlyingFox
import FlyingSocks
import Foundation

/// The origin: an HTTP server on 127.0.0.1 that paints whichever thumbnail is asked for, after a latency.
///
/// It lives in the parent process, outside the memory limit under test, as a real origin would.
final class OriginServer: Sendable {
    /// The port it listens on.
    let port: UInt16
    private let server: HTTPServer
    private let task: Task<Void, Never>

    /// Starts to serve on `port`, or on a port of the kernel's choice where it is 0.
    ///
    /// - Throws: `BadInput` where the port cannot be had.
    init(port: UInt16, seed: UInt64, latency: Duration) async throws {
        let server = HTTPServer(
            address: try .inet(ip4: "127.0.0.1", port: port),
            pool: PromptSocketPool(base: HTTPServer.defaultPool()),
            logger: silentLogger(),
            handler: ThumbnailHandler(seed: seed, latency: latency)
        )
        let (ended, end) = AsyncStream<any Error>.makeStream()
        self.server = server
        self.task = Task {
            do { try await server.run() } catch { end.yield(error) }
            end.finish()
        }
        // Whichever comes first: it listens, or it says why it cannot.
        let refusal = await withTaskGroup(of: (any Error)?.self) { group in
            group.addTask {
                for await error in ended { return error }; return nil
            }
            group.addTask { do { try await server.waitUntilListening(); return nil } catch { return error } }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let refusal { throw BadInput.port(port, refusal) }
        guard case .ip4(_, let bound) = await server.listeningAddress else {
            throw BadInput.port(port, SocketError.unsupportedAddress)
        }
        self.port = bound
    }

    /// Closes the port and every connection.
    func stop() async {
        await server.stop()
        task.cancel()
    }
}

/// Answers `GET /thumbnails/<number>-<bytes>.bmp`.
private struct ThumbnailHandler: HTTPHandler {
    let seed: UInt64
    let latency: Duration

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let thumbnail = Thumbnail(path: request.path) else { return HTTPResponse(statusCode: .notFound) }
        if latency > .zero { try await Task.sleep(for: latency) }
        return HTTPResponse(
            statusCode: .ok,
            headers: [.contentType: "image/bmp"],
            body: Data(Raster.paint(thumbnail, seed: seed))
        )
    }
}

/// FlyingFox's logger that logs nothing: what goes wrong with a connection shows at the client.
private func silentLogger(_ logger: some Logging = .disabled) -> any Logging { logger }
