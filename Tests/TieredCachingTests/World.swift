//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import TieredCaching

@testable import MemoryCaching

/// A server, an origin and processes around one key, as a value: what could happen next is in ``successors()``.
struct World: Hashable {
    typealias Plan = InterleavingTests.Plan

    enum Request: Hashable {
        case read(flight: Int), acquire(flight: Int), fill(Int, flight: Int), release(flight: Int), remove
    }

    enum Message: Hashable {
        case found(Int, flight: Int), absent(flight: Int), granted(flight: Int), held(flight: Int)
        case filled(Bool, flight: Int), removed, report
    }

    /// A step that can be compared; there are no errors in this world.
    struct Step: Hashable {
        let step: MissMachine<Int>.Step

        static func == (left: Step, right: Step) -> Bool { "\(left.step)" == "\(right.step)" }
        func hash(into hasher: inout Hasher) { hasher.combine("\(step)") }
    }

    /// A lookup on its way: the machine of its miss, and what its task has yet to handle.
    struct Lookup: Hashable {
        var machine = MissMachine<Int>()
        var footing: NearMachine<Int>.Footing?
        var inbox: [Message] = []
        var isRevoked = false {
            didSet { if isRevoked { isClosed = true } }
        }
        /// Newcomers start another one.
        var isClosed = false
        /// It asks the remote tier alone, and nobody shares it.
        var isReading = false
        var isWaiting = false
        var awaitsAnswer = false
        /// The origin's value, once the load has read it.
        var loaded: Int?
        var isLoading = false
        /// What is to be kept: the stamp has been given, the entry is not stored yet.
        var keeping: Entry?
        var steps: [Step] = []
        /// The origin's value when the lookup began, if this process had just changed it.
        var mustSee: Int
    }

    struct Process: Hashable {
        var near = NearMachine<Int>()
        var entry: Entry?
        var up: [Request] = []
        var down: [Message] = []
        var lookups: [Int: Lookup] = [:]
        var nextFlight: Int
        var lookupsLeft: Int
        var readingsLeft: Int
        var changesLeft: Int
        var change = Change.none
        /// The entry is to be removed: the machine knows of the change already.
        var removesEntry = 0
        var cutsLeft: Int
        /// Attempts to connect, before the first connection: the last one succeeds.
        var attemptsLeft = 0
        /// What the latest finished change of this process has made of the origin.
        var ownVersion = 0
    }

    enum Change: Hashable { case none, origin, dropped, sent, answered }

    struct Entry: Hashable {
        var value: Int
        var stamp: NearStamp
    }

    var store = TierStore()
    var origin = 0
    /// The origin's value as of the latest removal that the server has carried out.
    var removedUpTo = 0
    var processes: [Process]
    let fault: InterleavingTests.Fault
    var violation: String?

    static let key = "k"
    static let terms = Duration.seconds(1000)

    init(_ plan: Plan) {
        fault = plan.fault
        if plan.isStored { _ = store.write(Self.key, [0], lifetime: Self.terms, by: 0) }
        processes = plan.lookups.indices.map { index in
            var process = Process(
                nextFlight: index * 100,
                lookupsLeft: plan.lookups[index],
                readingsLeft: plan.readings[index],
                changesLeft: plan.changes[index],
                cutsLeft: plan.cuts == index ? 1 : 0
            )
            if plan.late == index {
                process.attemptsLeft = 2
            } else {
                _ = process.near.connected(now: 0, aliveFor: .max)
                _ = process.near.joined(process.near.joinAttempt, prefix: "e")
            }
            return process
        }
    }

    static func token(_ flight: Int) -> LeaseToken { LeaseToken(high: 0, low: UInt64(flight)) }
}

// MARK: What can happen

extension World {
    func successors() -> [World] {
        var all: [World] = []
        func add(_ body: (inout World) -> Void) {
            var next = self
            body(&next)
            all.append(next)
        }
        for (p, process) in processes.enumerated() {
            let isShareable = process.lookups.values.contains { !$0.isReading && !$0.isClosed }
            if process.lookupsLeft > 0, !isShareable { add { $0.startLookup(p) } }
            if process.readingsLeft > 0 { add { $0.startReading(p) } }
            if !process.up.isEmpty { add { $0.serve(p) } }
            if !process.down.isEmpty, process.removesEntry == 0 { add { $0.receive(p) } }
            if process.removesEntry > 0 { add { $0.removeEntry(p) } }
            if process.cutsLeft > 0 { add { $0.cut(p) } }
            if process.attemptsLeft > 0 { add { $0.attemptToConnect(p) } }
            if process.changesLeft > 0 || process.change == .origin || process.change == .dropped
                || process.change == .answered
            {
                if process.change != .sent { add { $0.advanceChange(p) } }
            }
            for (f, lookup) in process.lookups {
                if lookup.keeping != nil || !lookup.steps.isEmpty || !lookup.inbox.isEmpty { add { $0.run(p, f) } }
                if lookup.isLoading, lookup.loaded == nil { add { $0.processes[p].lookups[f]?.loaded = origin } }
                if lookup.isLoading, lookup.loaded != nil, lookup.steps.isEmpty { add { $0.finishLoad(p, f) } }
                // The poll behind the report, and the end of a lease whose holder was cut off.
                if lookup.isWaiting, process.up.isEmpty, process.down.isEmpty { add { $0.wake(p, f) } }
            }
        }
        return all.filter { $0 != self }
    }

    mutating func startLookup(_ p: Int) {
        processes[p].lookupsLeft -= 1
        if let entry = processes[p].entry, entry.stamp.isServed(under: processes[p].near.word) {
            if entry.value < processes[p].ownVersion { violation = "an own change was not read" }
            return
        }
        let flight = processes[p].nextFlight
        processes[p].nextFlight += 1
        let displaced = processes[p].near.file(flight, forKey: Self.key).revoked
        if fault != .displacesOnly { for other in displaced { processes[p].lookups[other]?.isRevoked = true } }
        processes[p].lookups[flight] = Lookup(steps: [Step(step: .read)], mustSee: processes[p].ownVersion)
    }

    mutating func startReading(_ p: Int) {
        processes[p].readingsLeft -= 1
        let flight = processes[p].nextFlight
        processes[p].nextFlight += 1
        let (footing, isFiled) = processes[p].near.beginAlone(flight, forKey: Self.key)
        processes[p].lookups[flight] = Lookup(
            footing: footing,
            isRevoked: !isFiled && fault != .keepsUnfiled,
            isReading: true,
            steps: [Step(step: .read)],
            mustSee: processes[p].ownVersion
        )
    }

    /// One step of the lookup's task.
    mutating func run(_ p: Int, _ f: Int) {
        guard var lookup = processes[p].lookups[f] else { return }
        defer { if processes[p].lookups[f] != nil { processes[p].lookups[f] = lookup } }
        if let keeping = lookup.keeping {
            lookup.keeping = nil
            if !lookup.isRevoked || fault == .keepsWithoutAsking { processes[p].entry = keeping }
        } else if lookup.steps.isEmpty {
            lookup.awaitsAnswer = false
            switch lookup.inbox.removeFirst() {
            case .found(let value, _): lookup.next(.found(value))
            case .absent: lookup.next(.absent)
            case .granted: lookup.next(.granted(stale: nil))
            case .held: lookup.next(.held(stale: nil))
            case .filled(let isStored, _): lookup.next(.filled(isStored))
            case .removed, .report: break
            }
        }
        // Nothing else can tell in which order the steps of one task run, but for the two halves of keeping.
        while !lookup.steps.isEmpty, lookup.keeping == nil {
            perform(lookup.steps.removeFirst().step, p, f, &lookup)
        }
        if !lookup.isLoading, !lookup.isWaiting, !lookup.awaitsAnswer, lookup.keeping == nil {
            processes[p].near.landed(f, forKey: Self.key)
            processes[p].lookups[f] = nil
        }
    }

    mutating func perform(_ step: MissMachine<Int>.Step, _ p: Int, _ f: Int, _ lookup: inout Lookup) {
        switch step {
        case .read, .acquire:
            if !lookup.isReading || lookup.footing == nil {
                let (footing, isFiledAnew) = processes[p].near.begin(f, forKey: Self.key)
                lookup.footing = footing
                if isFiledAnew || fault == .renewsUnfiled { lookup.isRevoked = false }
            }
            if lookup.footing == nil {
                lookup.next(.failed(stale: nil, mayHoldLease: false))
            } else if case .read = step {
                lookup.send(.read(flight: f), by: &processes[p])
            } else {
                lookup.send(.acquire(flight: f), by: &processes[p])
            }
        case .wait:
            lookup.isWaiting = true
            _ = processes[p].near.pause(f, forKey: Self.key)
        case .load:
            if processes[p].near.beginLoad(f, forKey: Self.key) { lookup.isRevoked = false }
            lookup.isLoading = true
        case .fill(let value): lookup.send(.fill(value, flight: f), by: &processes[p])
        case .release: processes[p].up.append(.release(flight: f))
        case .keep(let value):
            guard let footing = lookup.footing else { return }
            let generation = fault == .keepsWithoutAsking ? processes[p].near.generation : footing.generation
            lookup.keeping = Entry(
                value: value,
                stamp: NearStamp(generation: generation, freshUntil: 1 << 30)
            )
        case .land(let value), .landStale(let value):
            if value < lookup.mustSee { violation = "an own change was not read" }
        case .fail: break
        }
    }

    mutating func finishLoad(_ p: Int, _ f: Int) {
        guard var lookup = processes[p].lookups[f], let value = lookup.loaded else { return }
        lookup.isLoading = false
        lookup.next(.loaded(value))
        processes[p].lookups[f] = lookup
    }

    mutating func wake(_ p: Int, _ f: Int) {
        guard var lookup = processes[p].lookups[f] else { return }
        lookup.isWaiting = false
        // A holder that was cut off never fills; its lease ends with time.
        let holders = processes.flatMap { $0.lookups.values }.contains { $0.isLoading || $0.awaitsAnswer }
        if !holders { apply(store.advance(to: 2_000_000)) }
        lookup.next(.woken)
        processes[p].lookups[f] = lookup
    }
}

// MARK: Pipes and the server

extension World {
    /// The server takes the next request of a process.
    mutating func serve(_ p: Int) {
        let request = processes[p].up.removeFirst()
        switch request {
        case .read(let flight):
            let value = store.read(Self.key, by: p)
            processes[p].down.append(value.map { .found(Int($0.bytes[0]), flight: flight) } ?? .absent(flight: flight))
        case .acquire(let flight):
            let terms = LeaseTerms(token: Self.token(flight), duration: Self.terms)
            let (answer, reports) = store.acquire(Self.key, terms, by: p)
            switch answer {
            case .found(let value): processes[p].down.append(.found(Int(value.bytes[0]), flight: flight))
            case .granted: processes[p].down.append(.granted(flight: flight))
            case .held, .full: processes[p].down.append(.held(flight: flight))
            }
            apply(reports)
        case .fill(let value, let flight):
            var (isStored, reports) = store.fill(
                Self.key,
                with: [UInt8(value)],
                lifetime: Self.terms,
                lease: Self.token(flight),
                by: p
            )
            if fault == .fillsWithoutLease, !isStored {
                reports = store.write(Self.key, [UInt8(value)], lifetime: Self.terms, by: p)
                isStored = true
            }
            if isStored, value < removedUpTo { violation = "an old load's fill reached the server after the removal" }
            processes[p].down.append(.filled(isStored, flight: flight))
            apply(reports)
        case .release(let flight): apply(store.release(Self.key, lease: Self.token(flight), by: p))
        case .remove:
            removedUpTo = origin
            apply(store.remove(Self.key, by: p))
            processes[p].down.append(.removed)
        }
    }

    mutating func apply(_ reports: [TierStore.Report]) {
        for report in reports { processes[report.client].down.append(.report) }
    }

    /// The event thread of a process reads the next message.
    mutating func receive(_ p: Int) {
        let message = processes[p].down.removeFirst()
        switch message {
        case .report:
            drop(p)
            processes[p].removesEntry += 1
        case .removed: processes[p].change = .answered
        case .found(_, let f), .absent(let f), .granted(let f), .held(let f), .filled(_, let f):
            processes[p].lookups[f]?.inbox.append(message)
        }
    }

    mutating func removeEntry(_ p: Int) {
        processes[p].entry = nil
        processes[p].removesEntry -= 1
    }

    mutating func drop(_ p: Int) {
        let concerned = processes[p].near.changed(Self.key)
        for flight in concerned.revoked { processes[p].lookups[flight]?.isRevoked = true }
        for flight in concerned.woken where processes[p].lookups[flight]?.isWaiting == true { wake(p, flight) }
    }

    /// A change: the origin first, then the near value, then the request; and the near value again after the answer.
    mutating func advanceChange(_ p: Int) {
        switch processes[p].change {
        case .none:
            processes[p].changesLeft -= 1
            origin += 1
            processes[p].change = .origin
        case .origin:
            drop(p)
            processes[p].entry = nil
            processes[p].change = .dropped
        case .dropped:
            if processes[p].near.footing == nil {
                // The connection is down: the change throws, and promises nothing.
                processes[p].change = .none
                return
            }
            processes[p].up.append(.remove)
            processes[p].change = .sent
        case .sent: break
        case .answered:
            if fault != .dropsOnlyBefore {
                drop(p)
                processes[p].entry = nil
            }
            processes[p].ownVersion = origin
            processes[p].change = .none
        }
    }

    // MARK: What must hold

    /// What is wrong when nothing more can happen.
    var violationAtRest: String? {
        for (p, process) in processes.enumerated() {
            if !process.lookups.isEmpty { return "a lookup of process \(p) never ends" }
            if process.near.flightCount > 0 { return "process \(p) remembers a flight that has ended" }
            if let entry = process.entry, entry.stamp.isServed(under: process.near.word), entry.value != origin,
                removedUpTo == origin
            {
                return "process \(p) serves \(entry.value) instead of \(origin)"
            }
        }
        if let bytes = store.record(Self.key)?.bytes, removedUpTo == origin, Int(bytes[0]) != origin {
            return "the server has an old value"
        }
        return nil
    }
}

extension World.Lookup {
    mutating func next(_ event: MissMachine<Int>.Event) {
        if isReading {
            if case .found(let value) = event {
                steps = [.keep(value), .land(value)].map { World.Step(step: $0) }
            } else {
                steps = [World.Step(step: .fail(RemoteTierError.disconnected))]
            }
            return
        }
        steps = machine.next(event).map { World.Step(step: $0) }
    }

    mutating func send(_ request: World.Request, by process: inout World.Process) {
        process.up.append(request)
        awaitsAnswer = true
    }
}
