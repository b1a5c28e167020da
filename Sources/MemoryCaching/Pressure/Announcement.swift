//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// Memory that is announced to every governor of the process, because each keeps only its own caches from it: those
/// that there are, and those that come before it ends.
final class Announcement: Sendable {
    private struct State {
        /// Who keeps how much of it free; nothing as long as a governor is being told.
        var kept: [ObjectIdentifier: (governor: MemoryGovernor, bytes: Int)] = [:]
        var hasEnded = false
    }

    private final class Ongoing: Sendable {
        let announcements = ForkSafeMutex<[ObjectIdentifier: Announcement]>([:])
    }
    private static let perProcess = PerProcess { Ongoing() }

    private let bytes: Int
    private let state = ForkSafeMutex(State())

    private init(_ bytes: Int) { self.bytes = bytes }

    /// Begins to keep `bytes` free and makes them so; returns what is to be ended (nothing where there are no bytes),
    /// and how many bytes are free when all have made room.
    static func begin(_ bytes: Int) -> (announcement: Announcement?, freeBytes: Int) {
        let announcement = bytes > 0 ? Announcement(bytes) : nil
        // First in the list: a governor that comes now finds it there, or is found below.
        if let announcement {
            perProcess.value.announcements.withLock { $0[ObjectIdentifier(announcement)] = announcement }
        }
        var free = Int.max
        for governor in MemoryGovernor.all {
            free = announcement?.tell(governor, makingRoom: true) ?? governor.announce(0).free
        }
        return (announcement, free)
    }

    /// Tells a governor that has just come of all that is announced. Its caches are still to come: there is no room to
    /// make.
    static func tellAll(to governor: MemoryGovernor) {
        let ongoing = perProcess.value.announcements.withLock { Array($0.values) }
        for announcement in ongoing { _ = announcement.tell(governor, makingRoom: false) }
    }

    /// Has `governor` keep the bytes free, unless it does already; returns how many bytes are free then.
    private func tell(_ governor: MemoryGovernor, makingRoom: Bool) -> Int? {
        let identity = ObjectIdentifier(governor)
        let isNew = state.withLock { state in
            guard !state.hasEnded, state.kept[identity] == nil else { return false }
            state.kept[identity] = (governor, 0)
            return true
        }
        guard isNew else { return nil }
        let (kept, free) = governor.announce(bytes, makingRoom: makingRoom)
        let isLate = state.withLock { state in
            if !state.hasEnded { state.kept[identity] = (governor, kept) }
            return state.hasEnded
        }
        if isLate { governor.endAnnouncement(kept) }
        return free
    }

    /// Ends keeping the bytes free.
    func end() {
        Self.perProcess.value.announcements.withLock { $0[ObjectIdentifier(self)] = nil }
        let kept = state.withLock { state in
            state.hasEnded = true
            defer { state.kept = [:] }
            return Array(state.kept.values)
        }
        for (governor, bytes) in kept { governor.endAnnouncement(bytes) }
    }
}
