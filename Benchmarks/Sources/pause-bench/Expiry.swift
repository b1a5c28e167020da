//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation
import MemoryCaching

/// Entries that expire together, and the calls of two threads that find them so: one sets, one looks up.
struct Expiry: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The longest call when a million entries expire at once.")

    @Option(help: "Entries.")
    var entries = 1_000_000

    @Flag(help: "Have a third thread ask for the count, which removes all that has expired.")
    var counting = false

    func run() {
        PauseBench.heading()
        let cache = MemoryCache<Int, Int>(options: .init(evictsUnderMemoryPressure: false))
        let end = ContinuousClock.now + .seconds(5)
        for key in 0..<entries {
            cache.setValue(key, forKey: key, cost: 1, expiresAfter: ContinuousClock.now.duration(to: end))
        }
        Thread.sleep(forTimeInterval: 5.1)
        print("\(cache.statistics.count) entries held, all of them expired")
        let keys = entries
        let reader = Worker {
            var pauses = Pauses()
            var random = SystemRandomNumberGenerator()
            pauses.resume()
            while pauses.calls < keys {
                _ = cache.value(forKey: Int(truncatingIfNeeded: random.next() & 0xF_FFFF) % keys)
                pauses.call()
            }
            return pauses
        }
        let counter =
            counting
            ? Worker {
                var pauses = Pauses()
                pauses.resume()
                for _ in 0..<100 {
                    _ = cache.count
                    pauses.call()
                }
                return pauses
            } : nil
        let writer = Worker {
            var pauses = Pauses()
            pauses.resume()
            for round in 0..<keys {
                cache.setValue(round, forKey: keys + round % 100_000)
                pauses.call()
            }
            return pauses
        }
        PauseBench.report("setValue", writer.result())
        PauseBench.report("value(forKey:)", reader.result())
        if let counter { PauseBench.report("count", counter.result()) }
        print("\(cache.count) entries left")
    }
}

/// A thread of its own.
final class Worker: @unchecked Sendable {
    // Written before the semaphore is signalled and read after.
    private var pauses: Pauses?
    private let done = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Pauses) {
        let thread = Thread { [self] in
            pauses = body()
            done.signal()
        }
        thread.start()
    }

    func result() -> Pauses {
        done.wait()
        return pauses!
    }
}
