//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import Synchronization

// Learning what insertions into a cache take. Each member has a window of its own; the growth that it is compared with
// is the whole process's.
extension MemoryGovernor {
    /// Takes note of what was inserted into one cache before `look`. Returns a question if there is something to
    /// learn about the sizes of its entries; the answer is what the process has in memory. Under the lock.
    func noteInsertions(
        of figures: PressureFigures,
        at look: AdmissionLedger.Look,
        _ state: inout State
    ) -> LearningWindow.Question? {
        guard var member = state.members[ObjectIdentifier(figures)] else { return nil }
        defer { state.members[ObjectIdentifier(figures)] = member }
        member.window.insert(
            LearningWindow.Insertions(
                count: figures.insertions.exchange(0, ordering: .relaxed),
                costs: figures.costs.exchange(0, ordering: .relaxed),
                charged: figures.charged.exchange(0, ordering: .relaxed)
            )
        )
        let moment = LearningWindow.Moment(
            used: look.used,
            correction: look.reading.correction,
            disturbances: state.disturbances,
            // Near the mark there are always some, and the account of them is an estimate.
            holes: look.used > look.marks.near ? look.limit : state.ledger.holes
        )
        return member.window.question(at: moment, by: member.estimate, unreported: unspent)
    }

    /// Asks what this process has in memory, five microseconds without a lock, and learns from it.
    func learn(from question: LearningWindow.Question, of figures: PressureFigures) {
        let resident = residentBytes()
        let chargedByOthers = chargedByOtherGovernors()
        state.withLock { state in
            guard var member = state.members[ObjectIdentifier(figures)] else { return }
            defer { state.members[ObjectIdentifier(figures)] = member }
            let lesson = member.window.answer(
                question,
                resident: resident,
                charged: state.expected + chargedByOthers,
                disturbances: state.disturbances
            )
            guard let lesson else { return }
            member.estimate.learn(
                insertions: lesson.insertions,
                costs: lesson.costs,
                growth: lesson.growth,
                isUndisturbed: lesson.isUndisturbed,
                holes: lesson.holes
            )
            figures.publish(member.estimate)
        }
    }

    /// What insertions into the caches of other governors have been charged. Without them a cache took all by which the
    /// process grew for its own entries': of 150 MiB that were announced beside two monitors, whose caches had costs, 64
    /// to 136 stayed free.
    private func chargedByOtherGovernors() -> Int {
        otherGovernors.reduce(0) { sum, governor in
            sum + governor.state.withLock { $0.expected + governor.spentSinceLook.load(ordering: .relaxed) }
        }
    }
}
