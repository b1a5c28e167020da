//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Glibc
import MemoryPressure

/// Where this run hears of memory pressure: from the system, and, where no cgroup could be made, from the parent too.
final class ManualPressure: Sendable {
    /// What the caches of this process listen to.
    let monitor = MemoryPressureMonitor.shared
    private let signal: ManualPressureSignal?

    init(inForce: Bool) { signal = inForce ? MemoryPressureMonitor.signalByHand : nil }

    /// Reads the parent's lines, "normal", "warning" or "critical", for as long as there is a parent.
    ///
    /// The end of the pipe means that the parent has gone, however it went: then this process goes too.
    func obeyParent() -> Never {
        var word: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(0, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1 else { _exit(2) }
            guard byte == UInt8(ascii: "\n") else {
                word.append(byte)
                continue
            }
            if let level = MemoryPressureLevel(name: String(decoding: word, as: UTF8.self)) { signal?.send(level) }
            word = []
        }
    }
}

extension MemoryPressureLevel {
    /// Its name in the demo's own messages.
    var name: String {
        switch self {
        case .normal: "normal"
        case .warning: "warning"
        case .critical: "critical"
        }
    }

    init?(name: String) {
        guard let level = [Self.normal, .warning, .critical].first(where: { $0.name == name }) else { return nil }
        self = level
    }
}
