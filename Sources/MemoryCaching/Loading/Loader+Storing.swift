//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// The end of every load and the beginning of some: looking whether the value is there, and storing it unless one is.
extension Loader {
    /// Stores a value at the cost and for the lifetime that the options name, unless the ticket has been revoked or
    /// another value was stored first, which it answers.
    func keepFirst(
        _ value: Value,
        forKey key: Key,
        recomputeCost: Double? = nil,
        ticket: LoadTicket
    ) -> Value? {
        while !ticket.isRevoked {
            let outcome = store.insert(
                value,
                forKey: key,
                cost: cost(of: value, forKey: key, limit: store.totalCostLimit),
                recomputeCost: recomputeCost,
                expiresAfter: lifetimes.lifetime(of: value, forKey: key, given: nil),
                ticket: ticket
            )
            if outcome != .changed { break }
            if let first = store.peekValue(forKey: key) { return first }
            // The other value may have left again, or be there without its content. No lookup need come to remove that.
            store.removeDiscarded(forKey: key)
        }
        if !ticket.isRevoked { failures?.removeValue(forKey: key) }
        return nil
    }

    /// What `value` costs where the caller does not say, in a store with this limit (0 or less: none). May run the
    /// owner's code.
    @inlinable
    func cost(of value: Value, forKey key: Key, limit: Int) -> Int {
        hasCostClosure || limit > 0 ? costOfValue(key, value) : 0
    }

    /// The value for a key that was not there a moment ago, made on this thread and stored unless another one is first.
    @usableFromInline
    func madeValue<E: Error>(forKey key: Key, _ make: () throws(E) -> Value) throws(E) -> Value {
        let permit = flights.openPermit(for: key)
        defer { flights.close(permit) }
        let value = try make()
        if let first = keepFirst(value, forKey: key, ticket: permit.ticket) { return first }
        // Somebody may have set another value meanwhile.
        return permit.ticket.isRevoked ? store.peekValue(forKey: key) ?? value : value
    }
}
