//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What people write by hand when they need a limit: a dictionary of nodes, a doubly linked list, a mutex.
final class HandwrittenLRUSubject<Keys: KeyFactory>: BenchmarkedCache where Keys.Key: Sendable {
    private final class Node {
        let key: Keys.Key
        var value: UInt64
        unowned(unsafe) var previous: Node?
        unowned(unsafe) var next: Node?

        init(_ key: Keys.Key, _ value: UInt64) {
            self.key = key
            self.value = value
        }
    }

    private struct State: ~Copyable {
        var nodes: [Keys.Key: Node] = [:]
        var head: Node?
        var tail: Node?

        mutating func unlink(_ node: Node) {
            if let previous = node.previous { previous.next = node.next } else { head = node.next }
            if let next = node.next { next.previous = node.previous } else { tail = node.previous }
            node.previous = nil
            node.next = nil
        }

        mutating func prepend(_ node: Node) {
            node.next = head
            head?.previous = node
            head = node
            if tail == nil { tail = node }
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }
    static func value(_ number: UInt64) -> UInt64 { number }

    func get(_ key: Keys.Key) -> UInt64? {
        state.withLock { state in
            guard let node = state.nodes[key] else { return nil }
            if state.head !== node {
                state.unlink(node)
                state.prepend(node)
            }
            return node.value
        }
    }

    func set(_ value: UInt64, _ key: Keys.Key) {
        state.withLock { state in
            if let node = state.nodes[key] {
                node.value = value
                state.unlink(node)
                state.prepend(node)
                return
            }
            if limit > 0, state.nodes.count >= limit, let last = state.tail {
                state.unlink(last)
                state.nodes[last.key] = nil
            }
            let node = Node(key, value)
            state.nodes[key] = node
            state.prepend(node)
        }
    }
}
