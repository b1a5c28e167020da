//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#if ValkeySupport
import Foundation
import MemoryCaching
import TieredCaching
import ValkeyCaching

// What a remote hit costs above the connection that it goes over, and what that does beside `redis-benchmark`.
extension StaleCheck {
    /// Reads values that are in the server and not near, so many at a time, on one connection:
    /// - The connection alone, with as many commands in one piece as `redis-benchmark` has in its pipeline, beside
    ///   that: `GET`s of a key that is not there, and what a read sends, two commands to a server that tracks.
    /// - Callers of their own, each waiting for its value: through a cache, and through its tier alone.
    func checkSpeed(_ port: Int) async throws {
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        // Near holds a hundredth of the keys, which are read in turn: it has none of them when it is asked.
        let (keyCount, near) = (20_000, 200)
        let cache = Cache(name: "check", remote: tier, codec: TrivialCodec(), countLimit: near, options: options)
        try await tier.waitUntilConnected()
        while !cache.isCoherent { try await Task.sleep(for: .milliseconds(1)) }
        let prefix = "check:v1:\(try await Self.epoch(in: tier)):"
        for key in 0..<keyCount { try await cache.setValue(UInt64(key), forKey: key) }
        for pipeline in [1, 16, 64] {
            var (gets, reads, bare, cached, ratios): ([Double], [Double], [Double], [Double], [Double]) = (
                [], [], [], [], []
            )
            for _ in 0..<5 {
                try await gets.append(rate(of: (0..<keyCount).map { _ in [["GET", "absent"]] }, pipeline, tier))
                try await reads.append(
                    rate(
                        of: (0..<keyCount).map {
                            [["GETRANGE", prefix + "\($0)", "0", "67108736"], ["PTTL", prefix + "\($0)"]]
                        },
                        pipeline,
                        tier
                    )
                )
                bare.append(
                    await rate(pipeline, keyCount) { key in
                        _ = try? await tier.read(prefix + "\(key)", within: .seconds(5))
                    }
                )
                let before = cache.statistics.remoteHits
                let rate = await rate(pipeline, keyCount) { key in _ = try? await cache.value(forKey: key) }
                // Those that near has answered say nothing.
                cached.append(rate * Double(cache.statistics.remoteHits - before) / Double(keyCount))
                ratios.append(bare[bare.count - 1] / cached[cached.count - 1])
            }
            let peer = try benchmark(port, pipeline, "-t get -d 8")
            let parts = try ["GETRANGE \(prefix)1 0 67108736", "PTTL \(prefix)1"].map {
                try benchmark(port, 2 * pipeline, "--enable-tracking -3 \($0)")
            }
            let peerReads = parts.contains(0) ? 0 : 1 / parts.map { 1 / $0 }.reduce(0, +)
            func middle(_ values: [Double]) -> Int { Int(values.sorted()[values.count / 2]) }
            print(
                "\(pipeline) in one piece: \(middle(gets)) GETs a second, \(middle(reads)) reads;"
                    + (peerReads == 0
                        ? " redis-benchmark is not there"
                        : " redis-benchmark \(Int(peer)) and \(Int(peerReads))")
            )
            print(
                "\(pipeline) callers: \(middle(bare)) reads a second through the tier,"
                    + " \(middle(cached)) remote hits,"
                    + String(format: " ratio %.2f", ratios.sorted()[ratios.count / 2])
                    + String(format: " (%.2f to %.2f)", ratios.min() ?? 0, ratios.max() ?? 0)
            )
        }
        await tier.shutDown()
    }

    /// Sends all `reads`, so many in one piece, and the next piece when all of it is answered; how many there were in a
    /// second. Their bytes are made before.
    private func rate(of reads: [[[String]]], _ count: Int, _ tier: ValkeyTier) async throws -> Double {
        let pieces = stride(from: 0, to: reads.count, by: count).map { first in
            reads[first..<min(first + count, reads.count)].flatMap { $0.map { $0.map { Array($0.utf8) } } }
        }
        let begun = ContinuousClock.now
        for piece in pieces { _ = try await tier.send(piece, .seconds(5)) }
        return Double(reads.count) / (begun.duration(to: .now) / .seconds(1))
    }

    /// Reads of all keys, so many at a time; how many there were in a second.
    private func rate(_ tasks: Int, _ keyCount: Int, _ read: @escaping @Sendable (Int) async -> Void) async -> Double {
        let begun = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    for key in stride(from: task, to: keyCount, by: tasks) { await read(key) }
                }
            }
        }
        return Double(keyCount) / (begun.duration(to: .now) / .seconds(1))
    }

    /// Commands a second of redis-benchmark over one connection; 0 where it is not there.
    private func benchmark(_ port: Int, _ pipeline: Int, _ commands: String) throws -> Double {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c",
            "redis-benchmark -p \(port) -c 1 -P \(pipeline) -n \(pipeline <= 2 ? 40_000 : 400_000) --csv \(commands)"
                + " 2>/dev/null | tail -1 | cut -d, -f2",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Double(String(decoding: data, as: UTF8.self).filter { $0.isNumber || $0 == "." }) ?? 0
    }
}
#endif
