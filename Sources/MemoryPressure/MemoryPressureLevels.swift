//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// See ``MemoryPressureMonitor/levels``.
struct MemoryPressureLevels: AsyncSequence, Sendable {
    typealias Element = MemoryPressureLevel
    typealias Failure = Never

    let monitor: MemoryPressureMonitor

    struct Iterator: AsyncIteratorProtocol {
        private var changes: AsyncStream<MemoryPressureLevel>.Iterator
        /// Ends with the iterator.
        private let observation: MemoryPressureObservation
        private var last: MemoryPressureLevel?

        init(_ monitor: MemoryPressureMonitor) {
            let (stream, continuation) = AsyncStream.makeStream(
                of: MemoryPressureLevel.self,
                bufferingPolicy: .bufferingNewest(1)
            )
            changes = stream.makeAsyncIterator()
            // Observed first and read after: a change between the two comes twice rather than not at all.
            observation = monitor.observe { continuation.yield($0) }
            continuation.yield(monitor.level)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> MemoryPressureLevel? {
            while let level = await changes.next(isolation: actor) {
                if level == last { continue }
                last = level
                return level
            }
            return nil
        }

        mutating func next() async -> MemoryPressureLevel? { await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(monitor) }
}
