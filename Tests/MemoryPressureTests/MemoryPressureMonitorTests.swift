//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@Suite struct MemoryPressureMonitorTests {
    @Test func theLevelIsTheHighestOfAllSignals() {
        let first = ManualPressureSignal()
        let second = ManualPressureSignal(level: .warning)
        let monitor = MemoryPressureMonitor(signals: [first, second])
        #expect(monitor.level == .warning)
        first.send(.critical)
        #expect(monitor.level == .critical)
        first.send(.normal)
        second.send(.normal)
        #expect(monitor.level == .normal)
        #expect(MemoryPressureMonitor(signals: []).level == .normal)
    }

    @Test func everySubscriberSeesTheLevelNowAndThenChanges() async {
        let signal = ManualPressureSignal(level: .warning)
        let monitor = MemoryPressureMonitor(signals: [signal])
        var first = monitor.levels.makeAsyncIterator()
        #expect(await first.next(isolation: nil) == .warning)
        signal.send(.critical)
        var second = monitor.levels.makeAsyncIterator()
        #expect(await second.next(isolation: nil) == .critical)
        #expect(await first.next(isolation: nil) == .critical)
        signal.send(.normal)
        #expect(await first.next(isolation: nil) == .normal)
        #expect(await second.next(isolation: nil) == .normal)
    }

    @Test func aSlowSubscriberFindsTheNewestAndNeverTheSameTwice() async {
        let signal = ManualPressureSignal()
        let monitor = MemoryPressureMonitor(signals: [signal])
        var levels = monitor.levels.makeAsyncIterator()
        #expect(await levels.next(isolation: nil) == .normal)
        signal.send(.warning)
        signal.send(.normal)
        signal.send(.normal)
        signal.send(.critical)
        #expect(await levels.next(isolation: nil) == .critical)
        signal.send(.warning)
        signal.send(.critical)
        signal.send(.warning)
        #expect(await levels.next(isolation: nil) == .warning)
    }

    @Test func aCancelledSubscriberEnds() async {
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let levels = monitor.levels
        let task = Task {
            var seen = 0
            for await _ in levels { seen += 1 }
            return seen
        }
        task.cancel()
        #expect(await task.value <= 1)
    }

    /// A signal that counts who listens.
    final class CountedSignal: MemoryPressureSignal {
        let listening = Atomic(0)
        let begun = Atomic(0)
        var level: MemoryPressureLevel { .normal }
        func observe(_ changed: @escaping @Sendable () -> Void) -> MemoryPressureObservation {
            listening.add(1, ordering: .relaxed)
            begun.add(1, ordering: .relaxed)
            return MemoryPressureObservation { [self] in listening.subtract(1, ordering: .relaxed) }
        }
    }

    @Test func sourcesRunFromTheFirstSubscriberToTheLast() async {
        let signal = CountedSignal()
        let monitor = MemoryPressureMonitor(signals: [signal])
        _ = monitor.level
        #expect(signal.begun.load(ordering: .relaxed) == 0)
        do {
            var first = monitor.levels.makeAsyncIterator()
            _ = await first.next(isolation: nil)
            var second = monitor.levels.makeAsyncIterator()
            _ = await second.next(isolation: nil)
            #expect(signal.listening.load(ordering: .relaxed) == 1)
        }
        #expect(signal.listening.load(ordering: .relaxed) == 0)
        #expect(signal.begun.load(ordering: .relaxed) == 1)
    }
}

/// The sources of a real system: files that the kernel and systemd offer, or that stand for them.
@Suite struct SystemPressureSignalTests {
    /// The highest level that the signal has called with until the first above normal was seen; nil where that takes
    /// a minute.
    static func levelAfter(
        _ signal: SystemPressureSignal,
        _ action: () throws -> Void
    ) async rethrows -> MemoryPressureLevel? {
        let (stream, continuation) = AsyncStream.makeStream(of: MemoryPressureLevel.self)
        // Read where the news arrives: a level is left again after a second.
        let observation = signal.observe { continuation.yield(signal.level) }
        defer { observation.cancel() }
        try action()
        return await withTaskGroup(of: MemoryPressureLevel?.self) { group in
            group.addTask { await stream.first { $0 > .normal } }
            group.addTask {
                try? await Task.sleep(for: .seconds(300))
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    static let greeting = "c29tZSAyMDAwMDAgMjAwMDAwMAA="

    @Test func aFIFOIsGreetedAndWatched() async throws {
        let tree = try TemporaryTree()
        #expect(mkfifo(tree.root + "/fifo", 0o600) == 0)
        let signal = SystemPressureSignal(
            files: tree.files(environment: ["MEMORY_PRESSURE_WATCH": "/fifo", "MEMORY_PRESSURE_WRITE": Self.greeting])
        )
        // The greeting comes back to whoever opened the FIFO for both: it is the first news.
        let level = await Self.levelAfter(signal) {}
        #expect(level == .warning)
    }

    /// While the thread is held up, the last observer leaves without closing anything itself, and another begins anew.
    @Test func sourcesAreClosedOnTheThread() async throws {
        let tree = try TemporaryTree()
        let path = tree.root + "/fifo"
        #expect(mkfifo(path, 0o600) == 0)
        func openCount() -> Int {
            (0..<1024).count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
            }
        }
        let (isHeld, mayGoOn) = (CompletionCounter(), CompletionCounter())
        let holding = PressureThreadTests.Client {
            isHeld.advance()
            mayGoOn.wait(past: 0, nanoseconds: .max / 4)
        }
        let signal = SystemPressureSignal(files: tree.files(environment: ["MEMORY_PRESSURE_WATCH": "/fifo"]))
        failingWhenStuck("closing sources on the thread") {
            let first = signal.observe {}
            PressureThread.shared.attach(holding)
            isHeld.wait(past: 0, nanoseconds: .max / 4)
            first.cancel()
            #expect(openCount() == 1 && signal.sourceNames.isEmpty)
            let second = signal.observe {}
            #expect(openCount() == 2 && signal.sourceNames == ["/fifo"])
            mayGoOn.advance()
            while openCount() > 1 { usleep(1000) }
            #expect(signal.sourceNames == ["/fifo"])
            second.cancel()
            PressureThread.shared.detach(holding)
            while openCount() > 0 { usleep(1000) }
        }
    }

    @Test func aFIFOWithoutGreetingSpeaksWhenWrittenTo() async throws {
        let tree = try TemporaryTree()
        #expect(mkfifo(tree.root + "/fifo", 0o600) == 0)
        let signal = SystemPressureSignal(files: tree.files(environment: ["MEMORY_PRESSURE_WATCH": "/fifo"]))
        let level = await Self.levelAfter(signal) {
            let writer = open(tree.root + "/fifo", O_WRONLY)
            #expect(write(writer, "x", 1) == 1)
            close(writer)
        }
        #expect(level == .warning)
        #expect(signal.level == .normal, "closed again: usage alone, of which there is none here")
    }

    @Test func aSocketIsConnectedGreetedAndWatched() async throws {
        let tree = try TemporaryTree()
        let path = "/tmp/cache-pressure-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        defer { unlink(path) }
        let listener = try #require(ListeningSocket(path))
        let environment = ["MEMORY_PRESSURE_WATCH": path, "MEMORY_PRESSURE_WRITE": Self.greeting]
        let signal = SystemPressureSignal(files: SystemFiles(root: "") { environment[$0] })
        let level = await Self.levelAfter(signal) {
            let peer = listener.accept()
            #expect(peer.read() == Array("some 200000 2000000\0".utf8))
            peer.write("pressure")
        }
        #expect(level == .warning)
        withExtendedLifetime(tree) {}
    }

    @Test func devNullWatchesNothing() throws {
        let signal = SystemPressureSignal(files: SystemFiles(root: "") { ["MEMORY_PRESSURE_WATCH": "/dev/null"][$0] })
        let observation = signal.observe {}
        #expect(signal.sourceNames.isEmpty)
        #expect(signal.level == .normal)
        observation.cancel()
    }

    @Test func aMissingFileFallsBackToWhatThereIs() throws {
        let environment = ["MEMORY_PRESSURE_WATCH": "/no/such/file"]
        let system = SystemPressureSignal(files: SystemFiles(root: "") { _ in nil })
        let misled = SystemPressureSignal(files: SystemFiles(root: "") { environment[$0] })
        let observations = [system.observe {}, misled.observe {}]
        #expect(
            system.sourceNames.filter { $0.hasSuffix("pressure") }
                == misled.sourceNames.filter { $0.hasSuffix("pressure") }
        )
        for observation in observations { observation.cancel() }
    }

    /// The kernel takes both triggers: they are written right, NUL and window and all.
    @Test(.enabled(if: access("/proc/pressure/memory", W_OK) == 0, "no pressure stall information"))
    func theKernelTakesTheTriggers() {
        let signal = SystemPressureSignal(files: SystemFiles(root: "") { _ in nil })
        let observation = signal.observe {}
        #expect(signal.sourceNames.filter { $0.hasSuffix("pressure") || $0.hasSuffix("pressure/memory") }.count == 2)
        observation.cancel()
        #expect(signal.sourceNames.isEmpty)
    }

    @Test func memoryEventsAreWatchedByInotify() async throws {
        let tree = try TemporaryTree()
        try tree.writeCgroupV2(path: "/app")
        try tree.write("104857600", "sys/fs/cgroup/app/memory.max")
        try tree.write("10485760", "sys/fs/cgroup/app/memory.current")
        try tree.write("high 0\nmax 0\noom 0\noom_kill 0\n", "sys/fs/cgroup/app/memory.events")
        let signal = SystemPressureSignal(files: tree.files)
        // Far from the limit, "high" is a hint that nothing bears out; an OOM kill speaks for itself.
        let level = try await Self.levelAfter(signal) {
            try tree.write("high 7\nmax 0\noom 0\noom_kill 0\n", "sys/fs/cgroup/app/memory.events")
            try tree.write("high 7\nmax 0\noom 1\noom_kill 1\n", "sys/fs/cgroup/app/memory.events")
        }
        #expect(level == .critical)
    }

    @Test func withoutAnySourceUsageIsPolled() async throws {
        let tree = try TemporaryTree()
        try tree.writeCgroupV2(path: "/app")
        try tree.write("104857600", "sys/fs/cgroup/app/memory.max")
        try tree.write("10485760", "sys/fs/cgroup/app/memory.current")
        let signal = SystemPressureSignal(files: tree.files)
        let level = try await Self.levelAfter(signal) {
            try tree.write("100000000", "sys/fs/cgroup/app/memory.current")
        }
        #expect(level == .warning)
    }
}

/// A listening Unix socket for one peer.
final class ListeningSocket {
    private let descriptor: Int32

    init?(_ path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
        guard isBound, listen(descriptor, 1) == 0 else { return nil }
    }

    deinit { close(descriptor) }

    struct Peer {
        let descriptor: Int32
        func read() -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return Array(bytes.prefix(max(0, count)))
        }
        func write(_ text: String) {
            let bytes = Array(text.utf8)
            #expect(send(descriptor, bytes, bytes.count, 0) == bytes.count)
        }
    }

    func accept() -> Peer { Peer(descriptor: Foundation.accept(descriptor, nil, nil)) }
}
