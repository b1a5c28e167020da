//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Entries that have left the cache and are still to be told of, discarded and let go of, once every lock is free.
///
/// Holds one without allocating: an insertion into a full cache has exactly one departure. Not copyable, because the
/// compiler then lets go of it where it is: a copyable one asked the runtime how, in 100 instructions of each insertion.
@usableFromInline
struct EntryDepartures<Key, Value>: ~Copyable {
    @usableFromInline struct Departure {
        @usableFromInline let key: Key
        @usableFromInline let value: Value
        @usableFromInline let cause: RemovalCause
        @usableFromInline let isDiscardable: Bool

        @inlinable
        init(key: Key, value: Value, cause: RemovalCause, isDiscardable: Bool) {
            self.key = key
            self.value = value
            self.cause = cause
            self.isDiscardable = isDiscardable
        }
    }

    @usableFromInline var first: Departure?
    @usableFromInline var rest: [Departure]?
    /// A newcomer that was not let in.
    @usableFromInline var refused: Departure?

    @inlinable
    @inline(__always)
    init() {}

    @inlinable
    mutating func append(_ entry: consuming Entry<Key, Value>, cause: RemovalCause) {
        let isDiscardable = entry.meta.info.has(EntryInfo.discardable)
        let departure = Departure(key: entry.key, value: entry.value, cause: cause, isDiscardable: isDiscardable)
        if first == nil {
            first = departure
        } else if rest == nil {
            rest = [departure]
        } else {
            rest!.append(departure)
        }
    }

    @inlinable var isEmpty: Bool { first == nil && refused == nil }
    @inlinable var count: Int { first == nil ? 0 : 1 + (rest?.count ?? 0) }
}
