//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Fills one kind of cache with more than a container may hold, as fast as it can, and says what came of it:
//     memory-fill KIND BYTES MEBIBYTES THREADS [SITUATION]
// KIND is one of Kind's cases, BYTES the size of a value (see Sizes), MEBIBYTES what to insert in all, SITUATION what
// else takes memory (see Situation). It prints one line of JSON; being killed prints nothing. For the tests, and by
// hand inside a memory cgroup.

import Dispatch
import MemoryCaching
import MemoryPressure
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// What is filled.
protocol Filled: Sendable {
    func store(_ value: [UInt8], _ key: Int)
    func load(_ key: Int) -> [UInt8]?
}

enum Kind: String, CaseIterable {
    /// A dictionary behind a mutex: what everybody writes first. Has no limit.
    case dictionary
    /// Foundation's own NSCache.
    case foundation
    /// MemoryCache without costs, and with costs in bytes.
    case memory, costs
    /// This package's NSCache.
    case nscache
    /// PurgeableCache.
    case purgeable
    /// A MemoryCache that only the removal handler of another one fills, which has a limit or none.
    case second, demoted
    /// PurgeableCache with keys of the size given, and values of eight bytes.
    case keys

    func make() -> any Filled {
        switch self {
        case .dictionary: FilledDictionary()
        case .foundation: FilledFoundationCache()
        case .memory: FilledMemoryCache(givesCosts: false)
        case .costs: FilledMemoryCache(givesCosts: true)
        case .nscache: FilledNSCache()
        case .purgeable: FilledPurgeableCache()
        case .second: FilledSecondCache(behind: 10)
        case .demoted: FilledSecondCache(behind: 0)
        case .keys: FilledKeys()
        }
    }
}

@main enum MemoryFill {
    struct Usage: Error {}

    static func main() throws {
        do {
            try run()
        } catch is Usage {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: "|")
            print(
                """
                usage: memory-fill \(kinds) BYTES MEBIBYTES THREADS [SITUATION]
                       memory-fill crowd CACHES THREADS BYTES SECONDS
                       memory-fill overhead | reactions
                """
            )
            exit(64)
        }
    }

    private static func run() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["overhead"] { return Overhead.run() }
        if arguments == ["reactions"] { return ReactionTimes.run() }
        if arguments.first == "crowd" {
            let numbers = arguments.dropFirst().compactMap { Int($0) }
            guard numbers.count == 4 else { throw Usage() }
            return Crowd.run(caches: numbers[0], threads: numbers[1], bytes: numbers[2], seconds: numbers[3])
        }
        guard arguments.count == 4 || arguments.count == 5, let kind = Kind(rawValue: arguments[0]),
            let sizes = Sizes(arguments[1]), let mebibytes = Int(arguments[2]), let threads = Int(arguments[3]),
            threads > 0,
            let situation = Situation(arguments.count == 5 ? arguments[4] : "alone")
        else { throw Usage() }
        let filled = kind.make()
        let count = sizes.count(in: mebibytes << 20)
        let clock = ContinuousClock()
        let kept = try situation.begin()
        let next = Atomic<Int>(0)
        let fillTime = clock.measure {
            // All insert until the end: what a thread has allocated some allocators return to it alone.
            DispatchQueue.concurrentPerform(iterations: threads) { _ in
                while true {
                    let key = next.add(1, ordering: .relaxed).oldValue
                    if key >= count { return }
                    filled.store([UInt8](repeating: pattern(key), count: sizes.size(of: key, among: count)), key)
                }
            }
        }
        let budget = MemoryBudget.current()
        var readable = 0
        var wrong = 0
        func read() {
            readable = 0
            for key in 0..<count {
                guard let value = filled.load(key) else { continue }
                readable += value.count
                if value.count != sizes.size(of: key, among: count) || !isPattern(value, key) { wrong += 1 }
            }
        }
        let readTime = clock.measure(read)
        let share = budget.limitBytes.map { Double(readable * 1000 / max(1, $0)) / 1000 } ?? 0
        // Refilled with what was inserted last: those keys are the ones that the cache holds.
        situation.act { bytes in
            for key in max(0, count - sizes.count(in: bytes))..<count where filled.load(key) == nil {
                filled.store([UInt8](repeating: pattern(key), count: sizes.size(of: key, among: count)), key)
            }
        }
        read()
        let governor = MemoryGovernor.shared.statistics
        print(
            """
            {"kind": "\(kind.rawValue)", "bytes": "\(arguments[1])", "threads": \(threads), "inserted": \(mebibytes << 20), \
            "allocator": "\(Platform.allocatorName)", \
            "readable": \(readable), "share": \(share), "wrong": \(wrong), \
            "limit": \(budget.limitBytes ?? 0), "used": \(budget.usedBytes), "trims": \(governor.trims), \
            "trimMilliseconds": \(governor.trimNanoseconds / 1_000_000), "trimmed": \(governor.bytesTrimmed), \
            "insertions": \(count), "looks": \(governor.looks), \
            "reactions": \(governor.reactions), "reactionsFreed": \(governor.bytesFreed), \
            "insertionsPerSecond": \(Int(Double(count) / (fillTime / .seconds(1)))), \
            "fillMilliseconds": \(Int(fillTime / .milliseconds(1))), \
            "readMilliseconds": \(Int(readTime / .milliseconds(1)))}
            """
        )
        withExtendedLifetime(kept) {}
    }

    /// Every byte of a value follows from its key.
    static func pattern(_ key: Int) -> UInt8 { UInt8(truncatingIfNeeded: (key &* 0x9E37_79B9) >> 7) | 1 }

    static func isPattern(_ value: [UInt8], _ key: Int) -> Bool {
        let expected = pattern(key)
        return value.withUnsafeBytes { bytes in
            // The first byte, and every byte like the one before it: one comparison of memory.
            bytes.first == expected
                && (bytes.count < 2 || memcmp(bytes.baseAddress!, bytes.baseAddress! + 1, bytes.count - 1) == 0)
        }
    }
}
