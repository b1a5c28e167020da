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

extension StaleCheck {
    /// The one process that writes.
    func runWriter() async throws {
        let shared = try SharedVersions(path: memory, keyCount: keys)
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        let cache = TieredCache<Int, UInt64>(name: "check", remote: tier, codec: TrivialCodec(), options: options)
        let begun = ContinuousClock.now
        var (sent, failed) = (0, 0)
        while ContinuousClock.now < begun + .seconds(seconds) {
            // Each key has one writer; keys are written beside each other.
            await withTaskGroup(of: Bool.self) { group in
                for key in 0..<keys {
                    group.addTask { await Self.write(key, shared, cache) }
                }
                for await isWritten in group where !isWritten { failed += 1 }
            }
            sent += keys
            try await Task.sleep(until: begun + .seconds(1) * Double(sent) / Double(writes))
        }
        for key in 0..<keys { while await !Self.write(key, shared, cache) {} }
        let duration = begun.duration(to: .now) / .seconds(1)
        print("writer: \(sent) writes, \(Int(Double(sent) / duration)) a second, \(failed) failed")
        shared.isOver = true
        await tier.shutDown()
    }

    private static func write(_ key: Int, _ shared: SharedVersions, _ cache: TieredCache<Int, UInt64>) async -> Bool {
        let version = shared.origin(key) + 1
        shared.setOrigin(key, version)
        do { try await cache.setValue(version, forKey: key) } catch { return false }
        // Versions that were not acknowledged were replaced with this one.
        for missed in shared.acknowledged(key)..<version { shared.acknowledge(key, missed + 1) }
        return true
    }

    /// A process that reads, by the library or by what stands in for it.
    func runReader() async throws {
        let shared = try SharedVersions(path: memory, keyCount: keys)
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        if busy {
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { Task.detached { await Self.spin(shared) } }
        }
        let reader: Reader
        switch control {
        case .carelessFill:
            let careless = CarelessCache()
            tier.subscribe(careless)
            let epoch = try await Self.epoch(in: tier)
            reader = Reader(shared) {
                careless.values["check:v1:\(epoch):\($0)"]
            } miss: { key in
                let name = "check:v1:\(epoch):\(key)"
                guard let found = try await tier.read(name, within: .seconds(1)) else { return shared.origin(key) }
                let version = try TrivialCodec<UInt64>().decode(found.bytes.span.bytes)
                careless.values[name] = version
                return version
            }
        case .bareConnection:
            tier.start()
            let prefix = "check:v1:\(try await Self.epoch(in: tier)):"
            let bare = try BareConnection(port: port, keyCount: keys, prefix: prefix)
            reader = Reader(shared, near: bare.value) { _ in throw CancellationError() }
        case .none, .pooledReports:
            let remote: any RemoteTier = control == .none ? tier : PooledTier(tier)
            let cache = TieredCache<Int, UInt64>(name: "check", remote: remote, codec: TrivialCodec(), options: options)
            reader = Reader(shared) {
                cache.nearValue(forKey: $0)
            } miss: { key in
                try await cache.value(forKey: key) { shared.origin(key) }
            }
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                reader.run()
                print("reader: \(reader.report())")
                continuation.resume()
            }
        }
        await tier.shutDown()
    }

    /// The epoch that a cache of this check has written.
    static func epoch(in tier: ValkeyTier) async throws -> String {
        while true {
            let found = try? await tier.read("check:v1", within: .seconds(1))
            if let found { return String(decoding: found.bytes, as: UTF8.self) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Holds a thread of the pool, but for a moment every tenth of a second.
    private static func spin(_ shared: SharedVersions) async {
        while !shared.isOver {
            let end = SharedVersions.now + 100_000_000
            while SharedVersions.now < end {}
            await Task.yield()
        }
    }
}
#endif
