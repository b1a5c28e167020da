//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Which slots' lifetimes end when: a hierarchical timing wheel beside a slab, made when the first entry with a
/// lifetime comes.
///
/// Scheduling and cancelling take O(1).
///
/// - SeeAlso: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), scheme 7.
@usableFromInline
final class TimerWheel {
    /// Not variables of the object: each access to one of those is checked to be exclusive, which took half of the time
    /// of scheduling.
    private let state: UnsafeMutablePointer<TimerWheelState>

    @usableFromInline
    convenience init() { self.init(TimerWheelState()) }

    private init(_ state: consuming TimerWheelState) {
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: state)
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// An empty wheel as far on as this one, so that what is scheduled need not move down all wheels again, with memory
    /// for `slots` of them.
    func following(slots: Int) -> TimerWheel { TimerWheel(TimerWheelState(following: state.pointee, slots: slots)) }

    /// The slot's deadline in nanoseconds; the largest where it has none.
    @usableFromInline
    func deadline(of slot: UInt32) -> Int64 { state.pointee.deadline(of: slot) }

    /// When the slot's lifetime is over, and when at the latest.
    @usableFromInline
    func entryDeadline(of slot: UInt32) -> EntryDeadline { state.pointee.entryDeadline(of: slot) }

    /// Notes whether a refresh of what the slot holds has failed; holds until the slot gets another deadline.
    @usableFromInline
    func setRefreshTried(_ isTried: Bool, of slot: UInt32) { state.pointee.setRefreshTried(isTried, of: slot) }

    /// Puts the slot's deadline off to `deadline`, or as far as it can be put off.
    @usableFromInline
    func postpone(_ slot: UInt32, to deadline: Int64) { state.pointee.postpone(slot, to: deadline) }

    /// Schedules `slot`, which must not be scheduled.
    @usableFromInline
    func schedule(_ slot: UInt32, deadline: EntryDeadline) { state.pointee.schedule(slot, deadline: deadline) }

    /// Takes `slot` out, if it is in.
    @usableFromInline
    func cancel(_ slot: UInt32) { state.pointee.cancel(slot) }

    /// A slot whose deadline is not after `now`, or 0 when there is none (left), or when `steps` have been used up, of
    /// which each slot that moves down a wheel takes one. It stays scheduled until it is cancelled.
    ///
    /// However many slots end at one moment, a call does a bounded piece of work: a bucket that has been opened empties
    /// over several calls, and of the present millisecond a call compares a thousand slots, the next one others.
    @usableFromInline
    func firstDue(at now: Int64, steps: inout Int) -> UInt32 { state.pointee.firstDue(at: now, steps: &steps) }

    /// Has the next search begin anew: one that ends with steps left has then compared all.
    @usableFromInline
    func restart() { state.pointee.restart() }
}
