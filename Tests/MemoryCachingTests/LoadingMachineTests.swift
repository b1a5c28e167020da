//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import MemoryCaching

/// Walks the machine through every interleaving and holds it against what is promised, written down a second time in
/// the plainest way.
@Suite("The single-flight machine")
struct LoadingMachineTests {
    enum Event: Hashable, CustomStringConvertible {
        case join(Int), suspend(Int), cancel(Int), revoke, land, fallback, timeout

        var description: String {
            switch self {
            case .join(let caller): "join \(caller)"
            case .suspend(let caller): "suspend \(caller)"
            case .cancel(let caller): "cancel \(caller)"
            case .revoke: "revoke"
            case .land: "land"
            case .fallback: "fallback"
            case .timeout: "timeout"
            }
        }
    }

    enum Answer: Hashable { case landed, left, fallback, timeout }

    /// The promises, with full memory of what happened and no cleverness.
    struct Promise {
        struct Caller: Hashable {
            var joined = false, refused = false, suspended = false, cancelled = false
            /// Cancelled while the load was still under way.
            var cancelledInFlight = false
            /// What has ended its wait before the landing.
            var told: Answer?
            var answer: Answer?

            /// Whether something can still end its wait before the landing.
            func waits(mayLeave: Bool) -> Bool { joined && told == nil && !(cancelledInFlight && mayLeave) }
        }
        /// Of callers 0 and 1; and of 1 and 2.
        static let takesFallback = [true, true, false]
        static let mayTimeOut = [false, true, true]
        var callers = [Caller](repeating: Caller(), count: 3)
        var mayLeave: [Bool]
        var isBackground: Bool
        var revoked = false, abandoned = false, landed = false
        var fellBack = false, timedOut = false

        func permits(_ event: Event) -> Bool {
            switch event {
            case .join(let c): !callers[c].joined && !callers[c].refused
            case .suspend(let c): callers[c].joined && !callers[c].suspended
            case .cancel(let c): callers[c].joined && !callers[c].cancelled
            case .revoke: !revoked
            case .land: !landed
            case .fallback: !fellBack
            case .timeout: !timedOut
            }
        }

        mutating func tell(_ c: Int, _ answer: Answer) {
            callers[c].told = answer
            if callers[c].suspended { callers[c].answer = answer }
        }

        mutating func apply(_ event: Event) {
            switch event {
            case .join(let c):
                if revoked || abandoned || timedOut || landed {
                    callers[c].refused = true
                } else {
                    callers[c].joined = true
                }
            case .suspend(let c):
                callers[c].suspended = true
                if let told = callers[c].told {
                    callers[c].answer = told
                } else if callers[c].cancelledInFlight && mayLeave[c] {
                    callers[c].answer = .left
                } else if landed {
                    callers[c].answer = .landed
                }
            case .cancel(let c):
                callers[c].cancelled = true
                guard !landed, callers[c].told == nil else { return }
                callers[c].cancelledInFlight = true
                if mayLeave[c], callers[c].suspended { callers[c].answer = .left }
                if !isBackground, !timedOut,
                    callers.allSatisfy({ !$0.joined || $0.cancelledInFlight || $0.told != nil })
                {
                    abandoned = true
                }
            case .revoke: revoked = true
            case .fallback:
                fellBack = true
                for c in 0..<3 where Self.takesFallback[c] && !landed && callers[c].waits(mayLeave: mayLeave[c]) {
                    if !callers[c].cancelledInFlight { isBackground = true }
                    tell(c, .fallback)
                }
            case .timeout:
                guard !landed else { return timedOut = true }
                timedOut = true
                for c in 0..<3 where Self.mayTimeOut[c] && callers[c].waits(mayLeave: mayLeave[c]) {
                    tell(c, .timeout)
                }
            case .land:
                landed = true
                for c in 0..<3 where callers[c].suspended && callers[c].answer == nil { callers[c].answer = .landed }
            }
        }
    }

    /// The machine with what its owner would do about its answers.
    struct Subject {
        var machine: FlightMachine<Int>
        var ids = [Int?](repeating: nil, count: 3)
        var answers = [[Answer]](repeating: [], count: 3)
        var abandonments = 0

        mutating func apply(_ event: Event, mayLeave: [Bool]) {
            switch event {
            case .join(let c):
                ids[c] = machine.join(
                    mayLeave: mayLeave[c],
                    mayTimeOut: Promise.mayTimeOut[c],
                    takesFallback: Promise.takesFallback[c]
                )
            case .suspend(let c):
                switch machine.suspend(ids[c]!, c) {
                case .wait: break
                case .land(let waiter): answers[waiter].append(.landed)
                case .leave(let waiter): answers[waiter].append(.left)
                case .tell(let waiter, .fallback): answers[waiter].append(.fallback)
                case .tell(let waiter, .timeout): answers[waiter].append(.timeout)
                }
            case .cancel(let c):
                let action = machine.cancel(ids[c]!)
                if let waiter = action.leaving { answers[waiter].append(.left) }
                if action.abandonsLoad { abandonments += 1 }
            case .revoke: machine.revoke()
            case .fallback: for waiter in machine.takeFallback() { answers[waiter].append(.fallback) }
            case .timeout: for waiter in machine.timeOut() { answers[waiter].append(.timeout) }
            case .land: for waiter in machine.land() { answers[waiter].append(.landed) }
            }
        }
    }

    static let events: [Event] =
        (0..<3).flatMap { [.join($0), .suspend($0), .cancel($0)] } + [.revoke, .land, .fallback, .timeout]

    /// Compares machine and promise; answers what differs.
    static func difference(_ subject: Subject, _ promise: Promise) -> String? {
        for c in 0..<3 {
            let caller = promise.callers[c]
            if (subject.ids[c] != nil) != caller.joined { return "caller \(c) admitted: \(!caller.joined)" }
            if subject.answers[c] != (caller.answer.map { [$0] } ?? []) {
                return "caller \(c) was answered \(subject.answers[c]), promised \(String(describing: caller.answer))"
            }
        }
        let machine = subject.machine
        let phase: FlightMachine<Int>.Phase =
            promise.landed
            ? .landed : promise.abandoned || promise.timedOut ? .abandoned : promise.revoked ? .revoked : .admitting
        if machine.phase != phase { return "\(machine.phase), promised \(phase)" }
        if subject.abandonments != (promise.abandoned ? 1 : 0) { return "abandoned \(subject.abandonments) times" }
        return nil
    }

    /// Every sequence of at most `depth` events, by depth-first search; answers how many sequences there were.
    static func walk(_ subject: Subject, _ promise: Promise, _ path: [Event], depth: Int) -> Int {
        var sequences = 1
        guard depth > 0 else { return sequences }
        for event in events where promise.permits(event) {
            var subject = subject
            var promise = promise
            subject.apply(event, mayLeave: promise.mayLeave)
            promise.apply(event)
            if let difference = difference(subject, promise) {
                Issue.record("after \(path + [event]): \(difference)")
                return sequences
            }
            sequences += walk(subject, promise, path + [event], depth: depth - 1)
        }
        return sequences
    }

    @Test("Keeps every promise in all interleavings", arguments: [0, 1, 2, 3], [false, true])
    func interleavings(stayers: Int, isBackground: Bool) {
        // The first `stayers` callers cannot express a cancellation. Four events are what is asked for; six reach a
        // caller that joins, suspends and is cancelled beside another one doing the same.
        let mayLeave = (0..<3).map { $0 >= stayers }
        let sequences = Self.walk(
            Subject(machine: FlightMachine(isBackground: isBackground)),
            Promise(mayLeave: mayLeave, isBackground: isBackground),
            [],
            depth: 6
        )
        #expect(sequences > 10_000)
    }

    @Test("Answers everybody in the end, whatever went before", arguments: [0, 1, 2, 3])
    func everybodyIsAnswered(stayers: Int) {
        // From every state that five events reach: let all who joined suspend, and land. Nobody may be left hanging.
        let mayLeave = (0..<3).map { $0 >= stayers }
        func visit(_ subject: Subject, _ promise: Promise, depth: Int) {
            var finished = subject
            for c in 0..<3 where promise.callers[c].joined && !promise.callers[c].suspended {
                finished.apply(.suspend(c), mayLeave: mayLeave)
            }
            if !promise.landed { finished.apply(.land, mayLeave: mayLeave) }
            for c in 0..<3 { #expect(finished.answers[c].count == (promise.callers[c].joined ? 1 : 0)) }
            #expect(finished.machine.interestedCount == 0)
            guard depth > 0 else { return }
            for event in Self.events where promise.permits(event) {
                var subject = subject
                var promise = promise
                subject.apply(event, mayLeave: mayLeave)
                promise.apply(event)
                visit(subject, promise, depth: depth - 1)
            }
        }
        visit(Subject(machine: FlightMachine()), Promise(mayLeave: mayLeave, isBackground: false), depth: 4)
    }
}
