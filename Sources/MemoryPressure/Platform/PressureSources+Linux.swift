//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux) && !CACHE_PORTABLE
internal import CMemoryShims
internal import ForkSafety
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A PSI file with a trigger written to it, a FIFO or a socket: what MEMORY_PRESSURE_WATCH names, or what is watched
/// where it names nothing.
final class WatchedFile: PressureSource {
    let name: String
    let polled: PolledDescriptor
    let hold: UInt64 = 4_000_000_000
    private let news: PressureNews
    private let hasContent: Bool

    init?(_ watch: PressureWatch, _ files: SystemFiles, news: PressureNews = .level(.warning)) {
        let path = files.root + watch.path
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let descriptor: Int32
        switch status.st_mode & S_IFMT {
        case S_IFSOCK: descriptor = cms_connect_unix(path)
        // A FIFO opened for both never reads end-of-file while nobody writes.
        case S_IFIFO, S_IFREG: descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        default: return nil
        }
        guard descriptor >= 0 else { return nil }
        let greeted = watch.greeting.withUnsafeBytes { bytes in
            bytes.isEmpty || write(descriptor, bytes.baseAddress!, bytes.count) == bytes.count
        }
        guard greeted else {
            close(descriptor)
            return nil
        }
        hasContent = status.st_mode & S_IFMT != S_IFREG
        name = watch.path
        polled = PolledDescriptor(descriptor: descriptor, events: hasContent ? cms_POLLIN : cms_POLLPRI)
        self.news = news
    }

    deinit { close(polled.descriptor) }

    func take(_ polled: PolledDescriptor) -> PressureNews {
        if hasContent, polled.events & cms_POLLIN != 0 {
            // What is written does not matter, only that something is.
            var isPressure = false
            var buffer = [UInt8](repeating: 0, count: 512)
            while true {
                let count = read(polled.descriptor, &buffer, buffer.count)
                if count > 0 { isPressure = true }
                if count == 0, !isPressure { return .gone }
                if count < buffer.count { break }
            }
            return isPressure ? news : .nothing
        }
        // The kernel says POLLERR when the cgroup has been removed.
        if polled.events & (cms_POLLERR | cms_POLLHUP | cms_POLLNVAL) != 0 { return .gone }
        return polled.events & cms_POLLPRI != 0 ? news : .nothing
    }
}

/// memory.events of a version 2 cgroup, by inotify: counts of what happened at its limits, descendants included.
final class MemoryEventsFile: PressureSource {
    let name: String
    let polled: PolledDescriptor
    let hold: UInt64 = 1_000_000_000
    private let path: String
    private let files: SystemFiles
    private let counts: ForkSafeMutex<[String: Int]>

    init?(_ directory: String, _ files: SystemFiles) {
        path = directory + "/memory.events"
        name = path
        self.files = files
        let descriptor = cms_watch_modifications(files.root + path)
        guard descriptor >= 0 else { return nil }
        polled = PolledDescriptor(descriptor: descriptor, events: cms_POLLIN)
        // Watched first and read after: what happens in between is seen at the next event, at the latest.
        counts = ForkSafeMutex(Self.counts(in: files.text(path)))
    }

    deinit { close(polled.descriptor) }

    func take(_ news: PolledDescriptor) -> PressureNews {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(polled.descriptor, &buffer, buffer.count) > 0 {}
        guard let text = files.text(path) else { return .gone }
        let latest = Self.counts(in: text)
        return counts.withLock { before in
            defer { before = latest }
            func grew(_ name: String) -> Bool { latest[name] ?? 0 > before[name] ?? 0 }
            if grew("oom") || grew("oom_kill") { return .level(.critical) }
            if grew("max") { return .hint(.critical) }
            return grew("high") ? .hint(.warning) : .nothing
        }
    }

    private static func counts(in text: String?) -> [String: Int] {
        var counts: [String: Int] = [:]
        for line in (text ?? "").split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, let count = Int(words[1]) { counts[String(words[0])] = count }
        }
        return counts
    }
}

/// An eventfd that a version 1 cgroup makes readable: registered in cgroup.event_control.
///
/// - SeeAlso: Documentation/admin-guide/cgroup-v1/memory.rst, sections 9 and 11.
final class EventDescriptor: PressureSource {
    let name: String
    let polled: PolledDescriptor
    let hold: UInt64 = 1_000_000_000
    private let news: PressureNews

    init?(
        _ name: String,
        _ directory: String,
        _ file: String,
        _ argument: String,
        _ files: SystemFiles,
        news: PressureNews
    ) {
        let watched = open("\(files.root)\(directory)/\(file)", O_RDONLY | O_CLOEXEC)
        guard watched >= 0 else { return nil }
        // The kernel holds the file by itself once it is registered.
        defer { close(watched) }
        let control = open("\(files.root)\(directory)/cgroup.event_control", O_WRONLY | O_CLOEXEC)
        guard control >= 0 else { return nil }
        defer { close(control) }
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        var request = "\(descriptor) \(watched) \(argument)"
        guard request.withUTF8({ write(control, $0.baseAddress!, $0.count) }) > 0 else {
            close(descriptor)
            return nil
        }
        self.name = name
        self.news = news
        polled = PolledDescriptor(descriptor: descriptor, events: cms_POLLIN)
    }

    // Closing the eventfd unregisters it.
    deinit { close(polled.descriptor) }

    func take(_ polled: PolledDescriptor) -> PressureNews {
        var count: UInt64 = 0
        return read(polled.descriptor, &count, 8) == 8 ? news : .nothing
    }
}
#endif
