//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import MemoryCaching

/// When the size of an insertion is learned, and from what.
@Suite struct LearningWindowTests {
    /// Knows nothing: an insertion counts as 64 KiB.
    private let estimate = InsertionEstimate()

    /// A window that began at usage of 100 MiB, with 50 MiB in memory.
    private func begun() throws -> LearningWindow {
        var window = LearningWindow()
        let first = try #require(ask(window, used: 100))
        #expect(window.answer(first, resident: 50 << 20, charged: 0, disturbances: 0) == nil)
        return window
    }

    private func moment(used: Int, correction: Int = 0, disturbances: Int = 0) -> LearningWindow.Moment {
        .init(used: used << 20, correction: correction, disturbances: disturbances)
    }

    private func ask(_ window: LearningWindow, used: Int, unreported: Int = 0) -> LearningWindow.Question? {
        window.question(at: moment(used: used), by: estimate, unreported: unreported << 20)
    }

    /// So many insertions, charged 64 KiB each.
    private func some(_ count: Int) -> LearningWindow.Insertions {
        .init(count: count, costs: 0, charged: count << 16)
    }

    @Test("A window of 4 MiB that insertions should have taken ends, and a smaller one goes on")
    func size() throws {
        var window = try begun()
        window.insert(some(63))
        #expect(ask(window, used: 101) == nil)
        window.insert(some(1))
        let question = try #require(ask(window, used: 101))
        let lesson = window.answer(question, resident: 51 << 20, charged: 0, disturbances: 0)
        #expect(lesson == .init(insertions: 64, costs: 0, growth: 1 << 20, isUndisturbed: true))
        #expect(ask(window, used: 101) == nil, "the next one begins with nothing")
    }

    @Test("What lay free when the window began is said with its growth")
    func holes() throws {
        var window = LearningWindow()
        func look(used: Int, holes: Int) -> LearningWindow.Question? {
            var moment = moment(used: used)
            moment.holes = holes
            return window.question(at: moment, by: estimate, unreported: 0)
        }
        let first = try #require(look(used: 100, holes: 7))
        #expect(window.answer(first, resident: 50 << 20, charged: 0, disturbances: 0) == nil)
        window.insert(some(64))
        let question = try #require(look(used: 101, holes: 3))
        let lesson = window.answer(question, resident: 51 << 20, charged: 0, disturbances: 0)
        #expect(lesson?.holes == 7)
    }

    @Test("What is granted and not reported makes the window longer: four times as large")
    func unreported() throws {
        var window = try begun()
        window.insert(some(64))
        #expect(ask(window, used: 101, unreported: 1) != nil)
        #expect(ask(window, used: 101, unreported: 2) == nil)
    }

    @Test("Growth that no insertion explains is news at once, if it is this process's")
    func surprise() throws {
        var window = try begun()
        window.insert(some(1))
        #expect(ask(window, used: 104) == nil)
        let others = try #require(ask(window, used: 110))
        #expect(window.answer(others, resident: 51 << 20, charged: 0, disturbances: 0) == nil)
        #expect(ask(window, used: 111) == nil, "growth counts from there")
        let own = try #require(ask(window, used: 120))
        let lesson = window.answer(own, resident: 70 << 20, charged: 0, disturbances: 0)
        #expect(lesson == .init(insertions: 1, costs: 0, growth: 20 << 20, isUndisturbed: true))
    }

    @Test("Where the kernel does not say what the process has in memory, usage is believed")
    func unknown() throws {
        var window = try begun()
        window.insert(some(1))
        let question = try #require(ask(window, used: 110))
        #expect(window.answer(question, resident: nil, charged: 0, disturbances: 0)?.growth == 10 << 20)
    }

    @Test("Of growth in whose time others inserted, a cache answers for its part")
    func part() throws {
        var window = try begun()
        window.insert(some(64))
        let question = try #require(ask(window, used: 140))
        #expect(window.answer(question, resident: 82 << 20, charged: 16 << 20, disturbances: 0)?.growth == 8 << 20)
    }

    @Test("An eviction disturbs the window in which it begins, also one that begins before the answer")
    func disturbances() throws {
        var window = try begun()
        window.insert(some(64))
        let question = try #require(ask(window, used: 101))
        #expect(window.answer(question, resident: 51 << 20, charged: 0, disturbances: 1)?.isUndisturbed == false)
        // And the next window, which began before the answer.
        window.insert(some(64))
        let next = try #require(
            window.question(at: moment(used: 102, disturbances: 1), by: estimate, unreported: 0)
        )
        #expect(window.answer(next, resident: 52 << 20, charged: 0, disturbances: 1)?.isUndisturbed == false)
        window.insert(some(64))
        let last = try #require(
            window.question(at: moment(used: 103, disturbances: 1), by: estimate, unreported: 0)
        )
        #expect(window.answer(last, resident: 53 << 20, charged: 0, disturbances: 1)?.isUndisturbed == true)
    }

    @Test("Usage that is not comparable any more begins a new window, and teaches nothing")
    func correction() throws {
        var window = try begun()
        window.insert(some(100))
        let question = try #require(
            window.question(at: moment(used: 300, correction: 1), by: estimate, unreported: 0)
        )
        #expect(window.answer(question, resident: 250 << 20, charged: 0, disturbances: 0) == nil)
        window.insert(some(64))
        let next = try #require(
            window.question(at: moment(used: 301, correction: 1), by: estimate, unreported: 0)
        )
        #expect(window.answer(next, resident: 254 << 20, charged: 0, disturbances: 0)?.insertions == 64)
    }

    @Test("What is inserted between question and answer is others' part of the growth")
    func insertionsBeforeTheAnswer() throws {
        var window = try begun()
        window.insert(some(64))
        let question = try #require(ask(window, used: 102))
        window.insert(some(64))
        // Both have grown the process: 128 insertions of 1 MiB.
        let lesson = window.answer(question, resident: 178 << 20, charged: 8 << 20, disturbances: 0)
        #expect(lesson == .init(insertions: 64, costs: 0, growth: 64 << 20, isUndisturbed: false))
    }

    @Test("Two threads that ask of one window learn once")
    func twoQuestions() throws {
        var window = try begun()
        window.insert(some(64))
        let first = try #require(ask(window, used: 102))
        window.insert(some(32))
        let second = try #require(ask(window, used: 104))
        #expect(window.answer(first, resident: 52 << 20, charged: 4 << 20, disturbances: 0)?.insertions == 64)
        #expect(window.answer(second, resident: 54 << 20, charged: 6 << 20, disturbances: 0) == nil)
        window.insert(some(32))
        let next = try #require(ask(window, used: 106))
        let lesson = window.answer(next, resident: 56 << 20, charged: 8 << 20, disturbances: 0)
        #expect(lesson == .init(insertions: 64, costs: 0, growth: 4 << 20, isUndisturbed: true))
    }

    @Test("Costs are handed on as they were reported")
    func costs() throws {
        var window = try begun()
        window.insert(.init(count: 10, costs: 8 << 20, charged: 8 << 20))
        let question = try #require(ask(window, used: 108))
        #expect(window.answer(question, resident: 58 << 20, charged: 0, disturbances: 0)?.costs == 0x1p23)
    }
}
