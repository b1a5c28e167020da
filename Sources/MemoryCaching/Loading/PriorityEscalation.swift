//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Priority escalation needs the runtime of macOS 26; Linux always has it. Without it a load keeps the priority that it
// was started with, and everything else is the same.

extension Task {
    /// Raises the task's priority where the runtime can.
    func raisePriority(to priority: TaskPriority) {
        if #available(macOS 26, iOS 26, watchOS 26, tvOS 26, visionOS 26, *) { escalatePriority(to: priority) }
    }
}

/// Calls `operation`, and `onEscalation` when the calling task's priority is raised meanwhile, where the runtime tells.
nonisolated(nonsending) func withEscalationHandler<Result>(
    operation: nonisolated(nonsending) () async -> Result,
    onEscalation: @escaping @Sendable (TaskPriority) -> Void
) async -> Result {
    if #available(macOS 26, iOS 26, watchOS 26, tvOS 26, visionOS 26, *) {
        await withTaskPriorityEscalationHandler(operation: operation) { _, priority in onEscalation(priority) }
    } else {
        await operation()
    }
}
