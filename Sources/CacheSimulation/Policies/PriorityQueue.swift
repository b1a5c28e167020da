//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A binary heap of keys whose priorities may change: least first.
struct PriorityQueue<Priority: Comparable> {
    private var heap: [(priority: Priority, key: UInt32)] = []
    /// Where each key stands in the heap; `UInt32.max` for nowhere.
    private var places: [UInt32]

    /// An empty queue for keys below `keyCount`.
    init(keyCount: Int) { places = .init(repeating: .max, count: keyCount) }

    /// The key of least priority.
    var first: (priority: Priority, key: Int)? { heap.first.map { ($0.priority, Int($0.key)) } }

    /// Whether `key` is in the queue.
    func contains(_ key: Int) -> Bool { places[key] != .max }

    /// Inserts `key`, or changes its priority.
    mutating func set(_ key: Int, _ priority: Priority) {
        if places[key] == .max {
            places[key] = UInt32(heap.count)
            heap.append((priority, UInt32(key)))
            rise(heap.count - 1)
        } else {
            let place = Int(places[key])
            heap[place].priority = priority
            rise(place)
            sink(Int(places[key]))
        }
    }

    /// Takes `key` out.
    mutating func remove(_ key: Int) {
        let place = Int(places[key])
        swap(place, heap.count - 1)
        heap.removeLast()
        places[key] = .max
        if place < heap.count {
            rise(place)
            sink(place)
        }
    }

    private mutating func swap(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        places[Int(heap[a].key)] = UInt32(a)
        places[Int(heap[b].key)] = UInt32(b)
    }

    private mutating func rise(_ place: Int) {
        var place = place
        while place > 0, heap[place].priority < heap[(place - 1) / 2].priority {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(_ place: Int) {
        var place = place
        while true {
            var least = place
            for child in (2 * place + 1)...(2 * place + 2)
            where child < heap.count && heap[child].priority < heap[least].priority {
                least = child
            }
            if least == place { return }
            swap(place, least)
            place = least
        }
    }
}
