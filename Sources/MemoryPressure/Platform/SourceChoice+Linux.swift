//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux) && !CACHE_PORTABLE
/// Which sources there are, best first.
enum PressureSources {
    /// PSI triggers of 200 ms of stall in 2 s: systemd's default. Some task stalled is a warning; all of them stalled
    /// together is critical. Without privilege the kernel takes only windows of multiples of 2 s (commit d82caa27).
    /// The NUL is part of what the kernel wants (Documentation/accounting/psi.rst).
    static let triggers: [(level: MemoryPressureLevel, text: String)] = [
        (.warning, "some 200000 2000000\0"), (.critical, "full 200000 2000000\0"),
    ]

    /// Opens what `files` offers. Empty where nothing is offered, or where watching is turned off.
    static func open(_ files: SystemFiles) -> (sources: [any PressureSource], isOff: Bool) {
        var sources: [any PressureSource] = []
        switch PressureWatch.instruction(files.environment) {
        case .off: return ([], true)
        case .watch(let watch):
            if let source = WatchedFile(watch, files) { sources.append(source) }
        case .unspecified: break
        }
        let memberships = CgroupMembership.read(files)
        if sources.isEmpty { sources += stallTriggers(memberships, files) }
        for membership in memberships {
            for directory in membership.directories {
                sources += limitSources(membership.version, directory, files)
            }
        }
        return (sources, false)
    }

    /// The cgroup's own pressure, or the machine's.
    ///
    /// The machine's is a hint, no more: tasks stall in whichever cgroup is at its own limit, and a cache that has room
    /// would be emptied for a neighbour whom that does not help.
    private static func stallTriggers(_ memberships: [CgroupMembership], _ files: SystemFiles) -> [any PressureSource] {
        // The root of a version 2 hierarchy (also of one that stands beside version 1 and governs no memory) has a
        // memory.pressure too, but no memory.current: that is the machine's once more.
        let own = memberships.filter { $0.version == .v2 }.compactMap(\.directories.first)
            .filter { files.text($0 + "/memory.current") != nil }
        let machine = "/proc/pressure/memory"
        for path in own.map({ $0 + "/memory.pressure" }) + [machine] {
            let sources = triggers.compactMap { trigger in
                WatchedFile(
                    PressureWatch(path: path, greeting: Array(trigger.text.utf8)),
                    files,
                    news: path == machine ? .hint(trigger.level) : .level(trigger.level)
                )
            }
            if !sources.isEmpty { return sources }
        }
        return []
    }

    /// What tells of the limit of one cgroup, if it has one.
    private static func limitSources(
        _ version: CgroupMembership.Version,
        _ directory: String,
        _ files: SystemFiles
    ) -> [any PressureSource] {
        switch version {
        case .v2:
            return MemoryEventsFile(directory, files).map { [$0] } ?? []
        case .v1:
            // A group without a limit has nothing to say of its own: it hears what its children meet at theirs.
            guard let limit = files.text(directory + "/memory.limit_in_bytes")?.byteCount else { return [] }
            // Beyond the mark, where insertions stand still; then where levels begin (see PressureHysteresis).
            let marks = MemoryMarks(limit: limit)
            let thresholds = [marks.mark + marks.play, marks.warning, marks.critical].map { bytes in
                EventDescriptor(
                    "usage of \(bytes) bytes in \(directory)",
                    directory,
                    "memory.usage_in_bytes",
                    "\(bytes)",
                    files,
                    news: .hint(.warning)
                )
            }
            // "low" comes with any reclaim, of page cache too; all of them with that in groups below this one, which
            // may be at limits of their own while this one has room.
            let levels: [(String, PressureNews)] = [
                ("low", .hint(.warning)), ("medium", .hint(.warning)), ("critical", .hint(.critical)),
            ]
            let pressure = levels.map { name, news in
                EventDescriptor(
                    "\(name) pressure in \(directory)",
                    directory,
                    "memory.pressure_level",
                    name,
                    files,
                    news: news
                )
            }
            return (thresholds + pressure).compactMap { $0 }
        }
    }
}
#endif
