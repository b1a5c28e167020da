//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MemoryCaching
import MemoryPressure
import Metrics
import Synchronization

/// A map server over two caches: pictures being made, once each, and responses in memory that the kernel may take.
@main
struct TileServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tile-server",
        abstract: "Serve a map of the Mandelbrot set, and show at /debug/cache and /metrics what its caches do."
    )

    @Option(help: "Where to listen, on 127.0.0.1.")
    var port = 8080
    @Option(help: "Seconds that a tile lives. After a quarter of that, a request has it drawn anew in the background.")
    var lifetime = 60
    @Flag(help: "Draw every tile anew.")
    var withoutCache = false

    private static let longestUpload = 32 << 20

    func run() async throws {
        let isCaching = !withoutCache

        let page = MetricsPage()
        MetricsSystem.bootstrap(page)
        var logger = Logger(label: "tile-server")
        logger.logLevel = .notice

        let caches = Caches(lifetime: .seconds(lifetime), logger: logger)
        let router = Router()
        router.add(middleware: MetricsMiddleware())
        router.get("/") { _, _ in Response(html: Pages.map) }
        router.get("/metrics") { _, _ in
            caches.recordMetrics()
            return page.render()
        }
        router.get("/debug/cache") { _, _ in Response(html: caches.debugPage(isCaching: isCaching)) }

        router.get("/tile/:zoom/:x/:y") { request, context in
            let tile = Tile(
                zoom: try context.parameters.require("zoom", as: Int.self),
                x: try context.parameters.require("x", as: Int.self),
                y: try context.parameters.require("y", as: Int.self)
            )
            guard tile.exists else { throw HTTPError(.notFound) }
            let draw: @Sendable () -> CachedResponse = {
                CachedResponse(contentType: "image/bmp", body: Data(tile.render()))
            }
            return isCaching ? try await caches.responses.response(to: request, make: draw) : Response(draw())
        }
        // A request says how long its body is before the body comes: caches make room for it first.
        router.post("/upload") { request, _ in
            let length = request.headers[.contentLength].flatMap { Int($0) } ?? Self.longestUpload
            guard length <= Self.longestUpload else { throw HTTPError(.contentTooLarge) }
            let body = try await MemoryReserve.withFree(bytes: length) { _ in
                try await request.body.collect(upTo: length)
            }
            return "\(body.readableBytes) bytes\n"
        }

        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            services: [caches.maintenance],
            onServerRunning: { [port] _ in
                print(
                    "http://127.0.0.1:\(port)/  /debug/cache  /metrics  (\(isCaching ? "with" : "without") the cache)"
                )
            },
            logger: logger
        )
        try await application.runService()
    }
}

/// The server's caches and what watches them.
struct Caches: Sendable {
    let responses: CachedResponses
    let maintenance: CacheMaintenance

    private let window = Window()

    /// The snapshot that the debug page showed last.
    private final class Window: Sendable {
        let last = Mutex(CacheStatistics())
    }

    init(lifetime: Duration, logger: Logger) {
        responses = CachedResponses(lifetime: lifetime, logger: logger)
        var maintenance = CacheMaintenance(every: .seconds(10))
        maintenance.add(responses.cache.bytes)
        self.maintenance = maintenance
    }

    func recordMetrics() {
        responses.metrics.record(responses.cache.bytes.statistics)
    }

    func debugPage(isCaching: Bool) -> String {
        let now = responses.cache.bytes.statistics
        let sinceLastLook = window.last.withLock { last in
            defer { last = now }
            return now - last
        }
        return Pages.debug([
            ("Responses, since the start", "\(now)"),
            ("Responses, since this page was last looked at", "\(sinceLastLook)"),
            ("Responses that would be kept longest", "\(responses.cache.bytes.hottestKeys(5))"),
            ("Memory", Self.memory()),
            ("Caching", isCaching ? "on" : "off (--without-cache)"),
        ])
    }

    /// What the process takes, how much of it the kernel may take back, and what there is.
    private static func memory() -> String {
        let rollup = (try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)) ?? ""
        let lines = rollup.split(separator: "\n").filter { $0.hasPrefix("Rss:") || $0.hasPrefix("LazyFree:") }
        let budget = MemoryBudget.current()
        return (lines + ["Available:      \(budget.availableBytes / 1024) kB, by the container's limits"])
            .joined(separator: "\n")
    }
}
