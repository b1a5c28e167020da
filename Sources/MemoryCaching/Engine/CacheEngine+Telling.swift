//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

// What becomes of entries that have left, once every lock is free.
extension CacheEngine {
    /// Tells the observer of what has left, with no lock held. Whoever has it lets go of it afterwards, with no lock held
    /// either.
    ///
    /// `NSCache` discards the content then; but where `replacement` is the very object that it replaced, the cache still
    /// holds it. Other caches leave content to whoever still has the value.
    @inlinable
    @inline(__always)
    func finish(_ departures: borrowing EntryDepartures<Key, Value>, replacement: Value? = nil) {
        if departures.isEmpty { return }
        // Whose content could be discarded has set the flag before it went in.
        let mayDiscard = hasDiscardable.load(ordering: .relaxed) && hooks?.discardsDeparted ?? false
        if !mayDiscard, !hasObserver.load(ordering: .relaxed) { return }
        tell(of: departures, replacement: replacement)
    }

    @inlinable
    @inline(never)
    func tell(of departures: borrowing EntryDepartures<Key, Value>, replacement: Value?) {
        let (first, rest, refused) = (departures.first, departures.rest ?? [], departures.refused)
        if UserCode.isDeepest {
            UserCode.putOff { self.tell(of: first, rest, refused, replacement) }
        } else {
            UserCode.begin()
            tell(of: first, rest, refused, replacement)
            UserCode.end()
        }
    }

    /// Tells of what has left, the refused newcomer last.
    @inlinable
    func tell(
        of first: EntryDepartures<Key, Value>.Departure?,
        _ rest: [EntryDepartures<Key, Value>.Departure],
        _ refused: EntryDepartures<Key, Value>.Departure?,
        _ replacement: Value?
    ) {
        let observer = hasObserver.load(ordering: .relaxed) ? removalObserver : nil
        func tell(of departure: EntryDepartures<Key, Value>.Departure) {
            if let isIdentical = hooks?.isIdentical {
                let isStillHeld =
                    departure.cause == .replaced && replacement.map { isIdentical(departure.value, $0) } ?? false
                // The very object that is refused is told of as such.
                if isStillHeld || refused.map({ isIdentical(departure.value, $0.value) }) ?? false { return }
            }
            observer?(departure.key, departure.value, departure.cause)
            if departure.isDiscardable, let hooks, hooks.discardsDeparted { hooks.discardIfPossible(departure.value) }
        }
        if let first { tell(of: first) }
        for departure in rest { tell(of: departure) }
        if let refused {
            observer?(refused.key, refused.value, refused.cause)
            if refused.isDiscardable, let hooks, hooks.discardsDeparted { hooks.discardIfPossible(refused.value) }
        }
    }

    /// Whether what leaves need not be carried out of the lock: nobody is told, and there is nothing to deinitialise.
    @inlinable
    @inline(__always)
    var departsSilently: Bool {
        _isPOD(Key.self) && _isPOD(Value.self) && hooks == nil && !hasObserver.load(ordering: .relaxed)
    }
}
