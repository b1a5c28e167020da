//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CMemoryShims
import PurgeableMemory
import Synchronization
import _CacheTestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What a run is to do.
struct StressOptions: Sendable {
    /// A check that is left out on purpose, to show that the run would notice.
    enum Control: String, Sendable { case none, pin, optimistic }

    /// How long to run, at most.
    var seconds = 5.0
    /// When to stop earlier: so many accesses verified and so many values purged; 0 to run for the whole time.
    var verified = 0
    var purged = 0
    var control = Control.none
    /// Bytes of values in all; more than the cgroup allows, so that the kernel must take some.
    var valueBytes = 96 << 20
    /// Memory that the squeezer takes and gives back, again and again.
    var squeezeBytes = 16 << 20
    /// Reclaim asked for page by page (MADV_PAGEOUT), where there is no cgroup to be squeezed in.
    var squeezesByAdvice = false
    var forks = true
    var seed = UInt64.random(in: 0 ... .max)
}

/// Pinners, optimistic readers, writers, forks and a squeezer at work on the same values.
final class StressRun: Sendable {
    private struct Slot: ~Copyable {
        let content: StressContent
        let pageCount: Int
        let value: Mutex<PurgeableBytes>
    }

    let options: StressOptions
    let counters = StressCounters()
    private let slots: SlotTable
    private let isOver = Atomic<Bool>(false)
    /// Where the threads meet: the first of some neighbouring slots.
    private let crowd = Atomic<Int>(0)

    /// Fixed slots that threads share; a class because an array cannot hold what cannot be copied.
    private final class SlotTable: @unchecked Sendable {
        // Sendable: the memory is constant after init, each slot's value is behind its lock.
        let slots: UnsafeMutableBufferPointer<Slot>
        init(_ slots: UnsafeMutableBufferPointer<Slot>) { self.slots = slots }
    }

    init(_ options: StressOptions) {
        self.options = options
        let pageSize = PageSize.base
        // Mostly single pages, which are purged and refilled fastest; some with many, which die in part.
        let shapes = [1, 1, 2, 1, 1, 4, 1, 1, 8, 1, 1, 64, 1, 1, 2, 1]
        let count = options.valueBytes / pageSize * shapes.count / shapes.reduce(0, +)
        let table = UnsafeMutableBufferPointer<Slot>.allocate(capacity: count)
        for index in 0..<count {
            let content = StressContent(slot: index, pageSize: pageSize)
            let pages = index % 2048 == 11 ? 512 : shapes[index % shapes.count]
            table.initializeElement(
                at: index,
                to: Slot(
                    content: content,
                    pageCount: pages,
                    value: Mutex(PurgeableBytes(byteCount: pages * pageSize) { content.fill($0, version: 1) })
                )
            )
        }
        slots = SlotTable(table)
    }

    /// Runs all roles for the time given.
    func run() {
        var threads: [StressThread] = []
        for number in UInt64(0)..<2 {
            threads.append(StressThread { self.pin(SplitMix64(seed: self.options.seed &+ number)) })
        }
        for number in UInt64(2)..<5 {
            threads.append(StressThread { self.read(SplitMix64(seed: self.options.seed &+ number)) })
        }
        threads.append(StressThread { self.write(SplitMix64(seed: self.options.seed &+ 5)) })
        threads.append(StressThread { self.squeeze(SplitMix64(seed: self.options.seed &+ 6)) })
        if options.forks {
            threads.append(StressThread { self.fork(SplitMix64(seed: self.options.seed &+ 7)) })
        }
        let begin = ContinuousClock.now
        while goesOn(after: ContinuousClock.now - begin), !hasSeenEnough { usleep(20_000) }
        isOver.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
    }

    /// A run without a check ends when that has been noticed. Another takes the time given, and where that was not
    /// enough for every role to do something, ten times as much.
    private func goesOn(after time: Duration) -> Bool {
        if options.control != .none, counters.corrupt.load(ordering: .relaxed) > 0 { return false }
        let hasTriedAll = counters.haveAllTried(forks: options.forks)
        return time < .seconds(hasTriedAll && options.control == .none ? options.seconds : 10 * options.seconds)
    }

    private var hasGoal: Bool { options.verified > 0 || options.purged > 0 }

    private var hasSeenEnough: Bool {
        hasGoal && counters.verifiedCount >= options.verified
            && counters.purged.load(ordering: .relaxed) >= options.purged
    }

    /// Whether a run with a goal fell short of it.
    var fellShort: Bool { hasGoal && !hasSeenEnough }

    private var goesOn: Bool { !isOver.load(ordering: .relaxed) }

    private func value(_ index: Int) -> PurgeableBytes { slots.slots[index].value.withLock { $0 } }

    /// Puts a new value where `lost` was, once.
    private func refill(_ index: Int, after lost: PurgeableBytes, version: UInt32) {
        let content = slots.slots[index].content
        let fresh = PurgeableBytes(byteCount: lost.byteCount) { content.fill($0, version: version) }
        let isFirst = slots.slots[index].value.withLock { value in
            guard value === lost else { return false }
            value = fresh
            return true
        }
        if isFirst { counters.purged.add(1, ordering: .relaxed) }
    }

    private func record(_ isIntact: Bool, as counter: borrowing Atomic<Int>) {
        if isIntact {
            counter.add(1, ordering: .relaxed)
        } else {
            counters.corrupt.add(1, ordering: .relaxed)
        }
    }

    // MARK: Roles

    private func pin(_ generator: SplitMix64) {
        var choice = SlotChoice(slotCount: slots.slots.count, random: generator)
        var tally = StressTally()
        defer { tally.flush(into: counters.pinned, counters) }
        while goesOn {
            let index = choice.next(crowd: crowd)
            let value = value(index)
            let content = slots.slots[index].content
            if options.control == .pin {
                let isPinned = value.beginContentAccess()
                tally.record(content.isIntact(value.uncheckedBytes, firstPage: 0))
                if isPinned { value.endContentAccess() } else { refill(index, after: value, version: 2) }
            } else {
                let isIntact = value.withBytes { bytes in
                    bytes.withUnsafeBytes { content.isIntact($0, firstPage: 0) }
                }
                if let isIntact { tally.record(isIntact) } else { refill(index, after: value, version: 2) }
            }
            tally.flushIfDue(into: counters.pinned, counters)
        }
    }

    private func read(_ generator: SplitMix64) {
        var choice = SlotChoice(slotCount: slots.slots.count, random: generator)
        var tally = StressTally()
        defer { tally.flush(into: counters.read, counters) }
        let pageSize = PageSize.base
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512 * pageSize, alignment: 16)
        defer { buffer.deallocate() }
        while goesOn {
            let index = choice.next(crowd: crowd)
            let value = value(index)
            let pages = slots.slots[index].pageCount
            let first = choice.below(pages)
            let end = pages > 8 ? min(pages, first + 4) : pages
            let range = first * pageSize..<end * pageSize
            if options.control == .optimistic {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: value.uncheckedBytes[range]))
            } else if !value.read(range, into: buffer) {
                refill(index, after: value, version: 3)
                continue
            }
            let copy = UnsafeRawBufferPointer(rebasing: buffer[..<range.count])
            tally.record(slots.slots[index].content.isIntact(copy, firstPage: first))
            tally.flushIfDue(into: counters.read, counters)
            if options.control == .optimistic, value.isContentDiscarded { refill(index, after: value, version: 3) }
        }
    }

    private func write(_ generator: SplitMix64) {
        var random = generator
        while goesOn {
            let index = Int.random(in: 0..<slots.slots.count, using: &random)
            let value = value(index)
            let content = slots.slots[index].content
            switch Int.random(in: 0..<16, using: &random) {
            case 0: value.discardContentIfPossible()
            case 1:
                guard value.beginContentAccess() else { continue }
                guard value.beginContentAccess() else { fatalError("an open access did not keep the bytes") }
                value.endContentAccess()
                value.endContentAccess()
            default:
                let version = UInt32.random(in: 4 ... .max, using: &random)
                let done: Void? = value.withMutableBytes { bytes in
                    bytes.withUnsafeMutableBytes { content.fill($0, version: version) }
                }
                if done != nil { counters.written.add(1, ordering: .relaxed) }
            }
            // Writers hold everybody up; leave the processors to the readers most of the time.
            usleep(50)
        }
    }

    /// Takes pages in two ways: as a neighbour who needs memory, and from under the readers, where they are.
    private func squeeze(_ generator: SplitMix64) {
        var random = generator
        while goesOn {
            crowd.store(Int.random(in: 0..<slots.slots.count, using: &random), ordering: .relaxed)
            for _ in 0..<16 {
                takeUnderTheReaders(8, &random)
                usleep(500)
            }
            if !options.squeezesByAdvice {
                let byteCount = Int.random(in: 1 << 20...options.squeezeBytes, using: &random)
                let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
                for offset in stride(from: 0, to: byteCount, by: PageSize.base) { memory[offset] = 1 }
                memory.deallocate()
            }
        }
    }

    /// Has the kernel reclaim values where the crowd is, now.
    private func takeUnderTheReaders(_ count: Int, _ random: inout SplitMix64) {
        let first = crowd.load(ordering: .relaxed)
        for _ in 0..<count {
            let offset = Int.random(in: 0..<SlotChoice.neighbours, using: &random)
            // Held while the kernel is asked: the address must stay this value's.
            let value = value((first + offset) % slots.slots.count)
            let bytes = value.uncheckedBytes
            let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress!)
            _ = PageSystem.live.advise(base, bytes.count, .pageOut)
        }
    }

    private func fork(_ generator: SplitMix64) {
        var random = generator
        var hasRunHere = false
        while goesOn {
            let sample = (0..<32).map { _ in Int.random(in: 0..<slots.slots.count, using: &random) }
            let values = sample.map { value($0) }
            let held = values[0].beginContentAccess()
            let isHonest = {
                for (index, value) in zip(sample, values) {
                    let content = self.slots.slots[index].content
                    if let bytes = value.copyBytes(), !bytes.withUnsafeBytes({ content.isIntact($0, firstPage: 0) }) {
                        return false
                    }
                    let isIntact = value.withBytes { $0.withUnsafeBytes { content.isIntact($0, firstPage: 0) } }
                    if isIntact == false { return false }
                }
                return true
            }
            // What the runtime makes on first use is made here: in a child it could wait for a thread that is not
            // there.
            if !hasRunHere { record(isHonest(), as: counters.pinned) }
            hasRunHere = true
            let outcome = inForkedChild(isHonest)
            if held { values[0].endContentAccess() }
            if outcome == .stuck {
                counters.stuckForks.add(1, ordering: .relaxed)
            } else {
                record(outcome == .right, as: counters.forks)
            }
            usleep(5000)
        }
    }
}
