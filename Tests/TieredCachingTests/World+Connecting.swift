//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import TieredCaching

extension World {
    /// An attempt to connect ends, before the first connection.
    mutating func attemptToConnect(_ p: Int) {
        processes[p].attemptsLeft -= 1
        let concerned: NearMachine<Int>.Concerned
        if processes[p].attemptsLeft > 0 {
            concerned = processes[p].near.lost(now: 0)
        } else {
            concerned = processes[p].near.connected(now: 0, aliveFor: .max)
            _ = processes[p].near.joined(processes[p].near.joinAttempt, prefix: "e")
        }
        for flight in concerned.revoked { processes[p].lookups[flight]?.isRevoked = true }
    }

    /// The connection is lost with all that is under way, and made anew.
    mutating func cut(_ p: Int) {
        processes[p].cutsLeft -= 1
        if fault == .ignoresLostConnection {
            processes[p].down = processes[p].down.filter { $0 != .report }
            store.forget(p)
            return
        }
        let requests = processes[p].up
        let unanswered = processes[p].down
        (processes[p].up, processes[p].down) = ([], [])
        store.forget(p)
        var concerned = processes[p].near.lost(now: 0)
        let again = processes[p].near.connected(now: 0, aliveFor: .max)
        concerned.revoked += again.revoked
        _ = processes[p].near.joined(processes[p].near.joinAttempt, prefix: "e")
        for flight in concerned.revoked { processes[p].lookups[flight]?.isRevoked = true }
        let lost = Set(requests.compactMap(\.flight) + unanswered.compactMap(\.flight))
        for f in lost {
            guard var lookup = processes[p].lookups[f], lookup.awaitsAnswer else { continue }
            lookup.awaitsAnswer = false
            // A fill that was lost is a fill that failed.
            let isFilling = lookup.loaded != nil
            lookup.next(isFilling ? .filled(false) : .failed(stale: nil, mayHoldLease: false))
            processes[p].lookups[f] = lookup
        }
        if processes[p].change == .sent {
            drop(p)
            processes[p].entry = nil
            processes[p].change = .none
        }
    }
}

extension World.Request {
    var flight: Int? {
        switch self {
        case .read(let f), .acquire(let f), .fill(_, let f): f
        case .release, .remove: nil
        }
    }
}

extension World.Message {
    var flight: Int? {
        switch self {
        case .found(_, let f), .absent(let f), .granted(let f), .held(let f), .filled(_, let f): f
        case .removed, .report: nil
        }
    }
}
