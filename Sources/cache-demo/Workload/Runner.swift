//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc
import MemoryPressure
import Synchronization

/// One run, in a child of its own: workers serve the stream through one kind of cache until time or requests are up.
///
/// Every byte that a worker is lent is folded into a digest and compared with that of the picture painted anew, so a
/// page that the kernel took and that a cache passed on as good shows as a wrong value.
enum Runner {
    static func run(_ order: WorkloadOrder) async throws {
        // First of all, so that all that follows is charged to the run's own group.
        try order.group?.admit(getpid())
        let stream = RequestStream(readingFrom: 0, count: order.streamLength)
        guard !stream.thumbnails.isEmpty else { return }
        let pressure = ManualPressure(inForce: order.pressureByHand)
        Thread.detachNewThread { pressure.obeyParent() }

        let fetcher = makeFetcher(order, pressure: pressure)
        let meter = Meter()
        let sampler = Sampler(meter: meter, fetcher: fetcher, pressure: pressure)
        let start = ContinuousClock.now
        sampler.begin(at: start)
        let expected = ExpectedDigests(seed: order.seed)
        let turns = Turns()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<order.workers {
                group.addTask {
                    while true {
                        let index = turns.next()
                        if let requests = order.requests, index >= requests { return }
                        let begun = ContinuousClock.now
                        if begun - start > .seconds(order.seconds) { return }
                        let thumbnail = stream.thumbnails[index % stream.thumbnails.count]
                        await serve(thumbnail, fetcher, expected, meter)
                    }
                }
            }
        }
        sampler.finish()
    }

    private static func serve(
        _ thumbnail: Thumbnail,
        _ fetcher: any ThumbnailFetcher,
        _ expected: ExpectedDigests,
        _ meter: Meter
    ) async {
        let path = thumbnail.path
        let begun = ContinuousClock.now
        do {
            var digest: UInt64 = 0
            var time = Duration.zero
            let source = try await fetcher.withThumbnail(at: path) { bytes in
                // The time to the bytes: checking them is the demo's own work.
                time = ContinuousClock.now - begun
                digest = Digest.of(bytes)
            }
            meter.record(source, time: time, right: digest == expected.digest(of: thumbnail))
        } catch {
            meter.recordFailure()
        }
    }

    private static func makeFetcher(_ order: WorkloadOrder, pressure: ManualPressure) -> any ThumbnailFetcher {
        let downloader = Downloader(port: order.port, connections: order.workers)
        switch order.contender {
        case .dictionary: return DictionaryFetcher(downloader: downloader)
        case .foundationCache: return FoundationCacheFetcher(downloader: downloader)
        case .memoryCache: return MemoryCacheFetcher(downloader: downloader)
        case .purgeableCache: return PurgeableCacheFetcher(downloader: downloader)
        case .appleClasses: return AppleClassesFetcher(downloader: downloader)
        }
    }
}

/// Deals out places in the stream, each once.
private final class Turns: Sendable {
    private let taken = Atomic(0)

    func next() -> Int { taken.wrappingAdd(1, ordering: .relaxed).oldValue }
}

/// Digests of the pictures as they should be, painted once each.
final class ExpectedDigests: Sendable {
    private let seed: UInt64
    private let known = Mutex<[Thumbnail: UInt64]>([:])

    init(seed: UInt64) { self.seed = seed }

    func digest(of thumbnail: Thumbnail) -> UInt64 {
        if let digest = known.withLock({ $0[thumbnail] }) { return digest }
        let digest = Digest.of(Raster.paint(thumbnail, seed: seed))
        known.withLock { $0[thumbnail] = digest }
        return digest
    }
}
