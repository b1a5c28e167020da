//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import CacheSimulation
import Foundation
import MemoryCaching
import Synchronization

/// Measures hits by the kind of key, each beside a dictionary under a mutex in the same round.
@main
struct KeyBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key-bench",
        abstract: "Measure hits by integers, by text of several lengths and by objects, beside Dictionary + Mutex.",
        discussion: """
            Every key is there and asked for equally often, in an order made beforehand; text that is asked for is \
            another string than the one that was stored. Values are integers. The table has medians of the rounds. \
            With --lookups, one kind of key is looked up so often and nothing is timed, for a tool that counts \
            instructions.
            """
    )

    enum Kind: ExpressibleByArgument, CustomStringConvertible {
        case integer, object
        /// Text of so many bytes.
        case ascii(Int)
        /// Text of 40 bytes whose last letter is not ASCII.
        case accented

        init?(argument: String) {
            switch argument {
            case "integer": self = .integer
            case "object": self = .object
            case "é40": self = .accented
            default:
                guard let bytes = Int(argument), bytes > 0 else { return nil }
                self = .ascii(bytes)
            }
        }

        var description: String {
            switch self {
            case .integer: "integer"
            case .object: "object"
            case .accented: "é40"
            case .ascii(let bytes): "\(bytes)"
            }
        }
    }

    @Option(help: "Rounds.")
    var rounds = 5

    @Option(help: ArgumentHelp("How long each run takes at least.", valueName: "ms"))
    var milliseconds = 100

    @Option(parsing: .upToNextOption, help: "Numbers of keys.")
    var keys = [1_000, 100_000]

    @Option(parsing: .upToNextOption, help: "Kinds: integer, object, é40, or the bytes of a text of ASCII.")
    var kinds: [Kind] = [.integer, .object, .ascii(5), .ascii(12), .ascii(16), .ascii(40), .ascii(100), .accented]

    @Option(help: "Look up so often in the cache, and measure nothing.")
    var lookups: Int?

    func validate() throws {
        for (name, value) in [("--rounds", rounds), ("--milliseconds", milliseconds)] + keys.map({ ("--keys", $0) })
        where value < 1 {
            throw ValidationError("\(name) is \(value), and it takes at least 1.")
        }
        if let lookups, lookups < 0 { throw ValidationError("--lookups is \(lookups), and it takes at least 0.") }
    }

    func run() throws {
        for count in keys {
            for kind in kinds {
                let name = kind.description
                switch kind {
                case .integer: try report(name, Array(0..<count).map(Self.spread))
                case .object: try report(name, (0..<count).map(Object.init))
                case .accented: try report(name, (0..<count).map { Self.text($0, bytes: 38) + "é" }, Self.copy)
                case .ascii(let bytes):
                    try report("\(name) bytes", (0..<count).map { Self.text($0, bytes: bytes) }, Self.copy)
                }
            }
        }
    }

    private func report<Key: Hashable & Sendable>(
        _ kind: String,
        _ keys: [Key],
        _ copy: (Key) -> Key = { $0 }
    ) throws {
        let cache = MemoryCache<Key, Int>()
        let dictionary = Mutex<[Key: Int]>([:])
        for (value, key) in keys.enumerated() {
            cache.setValue(value, forKey: key)
            dictionary.withLock { $0[key] = value }
        }
        var random = SystemRandomNumberGenerator()
        let requests = (0..<max(keys.count, 1 << 10)).map { keys[$0 % keys.count] }.shuffled(using: &random).map(copy)
        if let lookups { return print(Self.loop(requests, lookups) { cache.value(forKey: $0) }) }
        var samples: [[Double]] = [[], []]
        for _ in 0..<rounds {
            samples[0].append(time(requests) { Self.loop(requests, $0) { cache.value(forKey: $0) } })
            samples[1].append(time(requests) { Self.loop(requests, $0) { key in dictionary.withLock { $0[key] } } })
        }
        let ratios = zip(samples[0], samples[1]).map { $1 / $0 }.sorted()
        let medians = samples.map(\.median)
        let row = String(
            format: "%7d keys  %-10@ MemoryCache %6.1f ns   Dictionary + Mutex %6.1f ns   %.2f × (%.2f to %.2f)",
            keys.count,
            kind as NSString,
            medians[0],
            medians[1],
            ratios[rounds / 2],
            ratios[0],
            ratios[rounds - 1]
        )
        print(row)
    }

    /// Nanoseconds for each lookup.
    private func time(_ requests: [some Any], _ loop: (_ count: Int) -> Int) -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        var done = 0
        var time = Duration.zero
        repeat {
            precondition(loop(requests.count) >= 0)
            done += requests.count
            time = clock.now - start
        } while time < .milliseconds(milliseconds)
        return time / .nanoseconds(1) / Double(done)
    }

    @inline(__always)
    private static func loop<Key>(_ requests: [Key], _ count: Int, _ get: (Key) -> Int?) -> Int {
        var sum = 0
        var index = 0
        for _ in 0..<count {
            sum &+= get(requests[index])! & 1
            index += 1
            if index == requests.count { index = 0 }
        }
        return sum
    }

    final class Object: Hashable, Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
        static func == (left: Object, right: Object) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    /// Over all 64 bits, so that nobody profits from keys in a row.
    private static func spread(_ number: Int) -> Int {
        Int(truncatingIfNeeded: SeededGenerator.mix(UInt64(number) &+ 0x1234_5678))
    }

    private static func text(_ number: Int, bytes: Int) -> String {
        let digits = String(number, radix: 36)
        return String(repeating: "k", count: max(0, bytes - digits.utf8.count)) + digits
    }

    /// The same text in memory of its own.
    private static func copy(_ text: String) -> String { String(decoding: Array(text.utf8), as: UTF8.self) }
}
