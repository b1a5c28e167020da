//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Several doubly linked queues over the same keys, each key in one of them at most: append, remove and move in O(1).
struct QueueSet {
    private static let none: UInt32 = .max

    private var next: [UInt32]
    private var previous: [UInt32]
    private var home: [UInt8]
    private let sizes: [Int]
    private var ends: [(head: UInt32, tail: UInt32, count: Int, bytes: Int)]

    /// `queues` empty queues over keys with these sizes.
    init(queues: Int, sizes: [Int]) {
        next = .init(repeating: Self.none, count: sizes.count)
        previous = next
        home = .init(repeating: .max, count: sizes.count)
        self.sizes = sizes
        ends = .init(repeating: (Self.none, Self.none, 0, 0), count: queues)
    }

    /// The queue that `key` is in.
    func queue(of key: Int) -> Int? { home[key] == .max ? nil : Int(home[key]) }
    /// The first to go: the key that was appended longest ago.
    func first(_ queue: Int) -> Int? { ends[queue].head == Self.none ? nil : Int(ends[queue].head) }
    /// The key appended after `key`.
    func after(_ key: Int) -> Int? { next[key] == Self.none ? nil : Int(next[key]) }
    /// How many keys are in `queue`.
    func count(_ queue: Int) -> Int { ends[queue].count }
    /// Their sizes together.
    func bytes(_ queue: Int) -> Int { ends[queue].bytes }

    /// Puts `key`, which is in no queue, at the end of `queue`.
    mutating func append(_ key: Int, to queue: Int) {
        let tail = ends[queue].tail
        previous[key] = tail
        next[key] = Self.none
        if tail == Self.none { ends[queue].head = UInt32(key) } else { next[Int(tail)] = UInt32(key) }
        ends[queue].tail = UInt32(key)
        ends[queue].count += 1
        ends[queue].bytes += sizes[key]
        home[key] = UInt8(queue)
    }

    /// Takes `key` out of its queue.
    mutating func remove(_ key: Int) {
        let queue = Int(home[key])
        let before = previous[key], after = next[key]
        if before == Self.none { ends[queue].head = after } else { next[Int(before)] = after }
        if after == Self.none { ends[queue].tail = before } else { previous[Int(after)] = before }
        ends[queue].count -= 1
        ends[queue].bytes -= sizes[key]
        home[key] = .max
    }

    /// Moves `key` to the end of `queue`, from wherever it is.
    mutating func move(_ key: Int, to queue: Int) {
        remove(key)
        append(key, to: queue)
    }

    /// Takes the first key out of `queue`.
    mutating func removeFirst(_ queue: Int) -> Int? {
        guard let key = first(queue) else { return nil }
        remove(key)
        return key
    }
}
