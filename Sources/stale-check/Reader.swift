//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Foundation
import Synchronization

/// A process that reads: near values on a thread of its own, misses in tasks.
final class Reader: Sendable {
    private let shared: SharedVersions
    private let near: @Sendable (Int) -> UInt64?
    private let miss: @Sendable (Int) async throws -> UInt64
    private let missing: Mutex<Set<Int>> = Mutex([])
    private let ages: Mutex<[UInt64]> = Mutex([])
    private let counts = Mutex((reads: 0, misses: 0))

    init(
        _ shared: SharedVersions,
        near: @escaping @Sendable (Int) -> UInt64?,
        miss: @escaping @Sendable (Int) async throws -> UInt64
    ) {
        self.shared = shared
        self.near = near
        self.miss = miss
    }

    /// Reads until the writer has ended.
    func run() {
        var reads = 0
        while !shared.isOver {
            for key in 0..<shared.keyCount {
                let (acknowledged, moment) = (shared.acknowledged(key), SharedVersions.now)
                if let version = near(key) {
                    note(version, key, acknowledged, moment)
                    reads += 1
                } else {
                    startMiss(key)
                }
            }
            // Three readers that never rest on two processors would measure each other.
            usleep(200)
        }
        counts.withLock { $0.reads = reads }
    }

    private func startMiss(_ key: Int) {
        guard missing.withLock({ $0.insert(key).inserted }) else { return }
        Task {
            let (acknowledged, moment) = (shared.acknowledged(key), SharedVersions.now)
            if let version = try? await miss(key) { note(version, key, acknowledged, moment) }
            counts.withLock { $0.misses += 1 }
            _ = missing.withLock { $0.remove(key) }
        }
    }

    private func note(_ version: UInt64, _ key: Int, _ acknowledged: UInt64, _ moment: UInt64) {
        guard let age = shared.age(of: version, forKey: key, acknowledged: acknowledged, at: moment) else { return }
        ages.withLock { $0.append(age) }
    }

    /// What was read, and which keys are old after everything has come to rest.
    func report() -> String {
        usleep(700_000)
        let left = (0..<shared.keyCount).count { key in near(key).map { $0 < shared.acknowledged(key) } ?? false }
        let (sorted, counts) = (ages.withLock { $0.sorted() }, counts.withLock { $0 })
        func milliseconds(_ share: Double) -> String {
            guard !sorted.isEmpty else { return "-" }
            let age = sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
            return String(format: "%.1f", Double(age) / 1e6)
        }
        return "near \(counts.reads) misses \(counts.misses) stale reads \(sorted.count)"
            + " age p50 \(milliseconds(0.5)) p99 \(milliseconds(0.99)) max \(milliseconds(1)) ms, keys left stale \(left)"
    }
}
#endif
