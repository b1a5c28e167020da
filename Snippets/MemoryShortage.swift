// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// How much memory the container allows, and being told when it runs short.
// snippet.show
import MemoryPressure

// snippet.hide
let signal = ManualPressureSignal()
let monitor = MemoryPressureMonitor(signals: [signal])
signal.send(.critical)

// snippet.show
let budget = MemoryBudget.current()
if let limit = budget.limitBytes { print("\(budget.usedBytes) of \(limit) bytes used") }

for await level in monitor.levels {  // MemoryPressureMonitor.shared listens to the system
    switch level {
    case .normal: break  // there is room; nothing is to be done
    case .warning: print("let go of what is cheap to make again")
    case .critical: print("let go of everything that can be made again")
    }
    // snippet.hide
    if level == .critical { break }
    // snippet.show
}
