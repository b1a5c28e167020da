//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
import Foundation
import MemoryCaching
import TieredCaching
import ValkeyCaching

/// The process that reads. It prints one line for each column: how many reads near, the server and the database have
/// answered, and the age of the oldest value that was served after its replacement, in microseconds.
struct Reader {
    let port: Int
    let database: Database

    func run() async throws {
        let tier = ValkeyTier(ValkeyConfiguration(port: port))
        let cache = TieredCache<Int, UInt64>(name: "demo", remote: tier, codec: TrivialCodec())
        try await tier.waitUntilConnected()
        let begun = ContinuousClock.now
        for column in 1...TierDemo.columns {
            let before = cache.statistics
            var oldest = 0 as UInt64
            while ContinuousClock.now < begun + TierDemo.column * column {
                let (current, now) = (database.read(), DispatchTime.now().uptimeNanoseconds)
                let value = try await cache.value(forKey: 1) { database.read().version }
                if value < current.version { oldest = max(oldest, (now - min(now, current.since)) / 1_000) }
                try await Task.sleep(for: .milliseconds(2))
            }
            let after = cache.statistics
            print(
                after.nearHits - before.nearHits,
                after.remoteHits - before.remoteHits,
                after.loads - before.loads,
                oldest
            )
            fflush(nil)
        }
        await tier.shutDown()
    }
}
