//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
package import MemoryPressure
internal import PurgeableMemory

// The governors of a process: one for each monitor.
extension MemoryGovernor {
    /// The one that watches this process's real memory; started by the first cache that holds something. A child of
    /// fork has its own, which knows nothing of the caches that the parent had: their locks may be held for ever.
    @usableFromInline package static var shared: MemoryGovernor { perProcess.value }
    private static let perProcess = PerProcess {
        MemoryGovernor(
            monitor: .shared,
            gauge: MemoryGauge(pinnedBytes: { PurgeablePool.shared.usage.pinnedByteCount }),
            warmQueue: PurgeablePool.shared.warmQueue
        )
    }

    /// The governor that reacts to `monitor` and watches this process's memory: one for each monitor, for as long as a
    /// cache keeps it.
    package static func listening(to monitor: MemoryPressureMonitor) -> MemoryGovernor {
        if monitor === MemoryPressureMonitor.shared { return shared }
        return others.withLock { $0[ObjectIdentifier(monitor)]?.governor } ?? MemoryGovernor(monitor: monitor).adopted()
    }

    /// Has caches that listen to this governor's monitor find it, unless they find another already; returns the one
    /// that they find.
    @discardableResult
    package func adopted() -> MemoryGovernor {
        // Before caches find it, and again of what was announced meanwhile by whoever did not find it.
        Announcement.tellAll(to: self)
        let governor = Self.others.withLock { others in
            if let governor = others[ObjectIdentifier(monitor)]?.governor { return governor }
            others[ObjectIdentifier(monitor)] = Weak(self)
            return self
        }
        if governor === self { Announcement.tellAll(to: self) }
        return governor
    }

    /// A governor that is kept by others, and who it was.
    private final class Weak {
        weak var governor: MemoryGovernor?
        let identity: ObjectIdentifier
        init(_ governor: MemoryGovernor) {
            self.governor = governor
            identity = ObjectIdentifier(governor)
        }
    }

    /// Governors by monitor. Each keeps its monitor, so that no other one takes its place in memory.
    private final class Others: Sendable {
        let governors = ForkSafeMutex<[ObjectIdentifier: Weak]>([:])
    }
    private static let othersPerProcess = PerProcess { Others() }
    private static var others: ForkSafeMutex<[ObjectIdentifier: Weak]> {
        _read { yield othersPerProcess.value.governors }
    }

    /// The governors of the process: the shared one, and those of other monitors that some cache keeps.
    static var all: [MemoryGovernor] { [shared] + others.withLock { $0.values.compactMap(\.governor) } }

    /// Has caches find this governor no more: it goes away.
    func forgetAdoption() {
        Self.others.withLock { others in
            // By identity: a reference to another governor, taken here, could be its last.
            let key = ObjectIdentifier(monitor)
            if others[key]?.identity == ObjectIdentifier(self) { others[key] = nil }
        }
    }
}
