//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization

/// A Swift implementation: its caches and the loops, compiled with its types known.
final class SwiftSubject<Cache: BenchmarkedCache>: Subject {
    let name: String
    /// One for all threads, or one for each.
    private var caches: [Workload: [Cache]] = [:]
    private let store: KeyStore<Cache.Keys>
    private let value: Cache.Value
    // Closures that are made where the types are known, so that the compiler specialises them: called as methods of a
    // generic type from here, the loop would ask witness tables, and slow down the fast implementations.
    private let fill: (Workload) -> [Cache]
    private let run: @Sendable (Loop<Cache>, borrowing Atomic<Bool>) -> Int

    @inline(__always)
    init(_ name: String, _ type: Cache.Type, _ store: KeyStore<Cache.Keys>, caches: Int) {
        self.name = name
        self.store = store
        let value = Cache.value(1)
        self.value = value
        fill = { workload in
            store.prepare(workload)
            let keys = store.keys.prefix(workload.prefill)
            return (0..<caches).map { _ in Cache.filled(limit: workload.limit, keys, value) }
        }
        run = { (loop: Loop<Cache>, stop: borrowing Atomic<Bool>) in loop.cache.run(loop, until: stop) }
    }

    func prepare(_ workload: Workload) { caches[workload] = fill(workload) }

    func run(_ workload: Workload, threads: Int, milliseconds: Int) -> Double {
        guard let caches = caches[workload] else { return 0 }
        let streams = store.streams(for: workload), run = run
        let loops = (0..<threads).map { Loop(caches[$0 % caches.count], streams[$0], value, workload, start: $0 << 16) }
        return Race.run(loops.map { loop in { run(loop, $0) } }, milliseconds: milliseconds)
    }

    func finish() { caches = [:] }
}
