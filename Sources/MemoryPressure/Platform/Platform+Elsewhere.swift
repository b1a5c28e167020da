//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// What every platform has but Linux, and what Linux is built with by CACHE_PORTABLE to test this file: POSIX threads, a
// pipe to wake by, and no news of memory pressure. `ManualPressureSignal` works everywhere.
#if !os(Linux) || CACHE_PORTABLE
internal import CMemoryShims
internal import Synchronization
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

extension Platform {
    /// Runs `body` on a detached thread of its own; false where the system refuses.
    ///
    /// All signals are blocked there: a program's handlers run on the program's threads.
    static func startThread(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // Removal handlers run here: enough for them.
        pthread_attr_setstacksize(&attributes, 1 << 20)

        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let work = Unmanaged.passRetained(ThreadWork(name: name, body: body))
        var thread = ThreadHandle(bitPattern: 0)
        let error = pthread_create(&thread, &attributes, runThread, work.toOpaque())
        if error != 0 { work.release() }
        return error == 0
    }

    typealias ThreadIdentity = UInt

    static var currentThread: ThreadIdentity { currentThreadNumber }

    /// A number of the calling thread's own, for as long as it runs.
    package static var currentThreadNumber: UInt { UInt(bitPattern: pthread_self()) }

    /// Whose `malloc` this process uses, for people.
    package static var allocatorName: String { "system" }

    /// Asks the allocator to return its free memory to the system.
    package static func trimAllocator() { cms_allocator_trim() }

    /// Bytes that the allocator has given out and bytes that lie free in its heaps; nil where it cannot say.
    static func allocatorUsage() -> (live: Int, unused: Int)? {
        var (live, unused) = (0, 0)
        guard cms_allocator_usage(&live, &unused) != 0 else { return nil }
        return (live, unused)
    }

    /// Waits for news on `descriptors` until `deadline` (monotonic nanoseconds; nil for ever); returns those with
    /// news. An interrupted wait returns none: the caller looks and waits again.
    static func poll(_ descriptors: [PolledDescriptor], until deadline: UInt64?) -> [PolledDescriptor] {
        var timeout: Int32 = -1
        if let deadline {
            let now = monotonicNanoseconds()
            // Rounded up: a wait that ends early would only be begun again.
            timeout = deadline <= now ? 0 : Int32(min((deadline - now + 999_999) / 1_000_000, 60_000))
        }
        var polled = descriptors.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
        let count = systemPoll(&polled, nfds_t(polled.count), timeout)
        guard count > 0 else { return [] }
        return polled.compactMap { $0.revents == 0 ? nil : PolledDescriptor(descriptor: $0.fd, events: $0.revents) }
    }
}

/// The C library's poll, which ``Platform/poll(_:until:)`` hides.
private func systemPoll(_ descriptors: UnsafeMutablePointer<pollfd>, _ count: nfds_t, _ timeout: Int32) -> Int32 {
    poll(descriptors, count, timeout)
}

private final class ThreadWork: Sendable {
    let name: StaticString
    let body: @Sendable () -> Void
    init(name: StaticString, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    /// Called on the new thread, once.
    static func run(_ pointer: UnsafeMutableRawPointer) {
        let work = Unmanaged<ThreadWork>.fromOpaque(pointer).takeRetainedValue()
        work.name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) { cms_name_thread($0.baseAddress!) }
        }
        work.body()
    }
}

// A thread is a pointer that may be missing on Apple's platforms, and a number or a pointer that may not elsewhere.
#if canImport(Darwin)
private typealias ThreadHandle = pthread_t?
private let runThread: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { pointer in
    ThreadWork.run(pointer)
    return nil
}
extension Optional where Wrapped == pthread_t {
    fileprivate init(bitPattern: Int) { self = nil }
}
#else
private typealias ThreadHandle = pthread_t
private let runThread: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { pointer in
    ThreadWork.run(pointer!)
    return nil
}
extension UInt {
    fileprivate init(bitPattern: pthread_t) { self = UInt(bitPattern) }
}
extension pthread_t {
    fileprivate init(bitPattern: Int) { self = pthread_t() }
}
#endif

/// Counts something that others wait for. No lock, which a thread of a parent could hold in a child of fork.
package final class CompletionCounter: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// How often ``advance()`` was called.
    package var count: Int { value.load(ordering: .acquiring) }

    /// Counts one more; those who wait look every millisecond.
    package func advance() { value.add(1, ordering: .acquiringAndReleasing) }

    /// Waits until the count is above `seen`, or `nanoseconds` are over.
    package func wait(past seen: Int, nanoseconds: UInt64) {
        let begin = Platform.monotonicNanoseconds()
        while count <= seen, Platform.monotonicNanoseconds() &- begin < nanoseconds { cms_sleep_nanoseconds(1_000_000) }
    }
}

/// A pipe: readable from ``signal()`` until ``clear()``. Closed with the last reference.
final class WakeDescriptor: Sendable {
    let polled: PolledDescriptor
    private let writer: Int32

    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        polled = PolledDescriptor(descriptor: ends[0], events: cms_POLLIN)
        writer = ends[1]
    }

    deinit {
        close(polled.descriptor)
        close(writer)
    }

    /// A pipe that is full is readable already.
    func signal() {
        var one: UInt8 = 1
        _ = write(writer, &one, 1)
    }

    func clear() {
        var buffer = [UInt8](repeating: 0, count: 512)
        while read(polled.descriptor, &buffer, buffer.count) > 0 {}
    }
}

/// Nothing tells of memory pressure here.
enum PressureSources {
    static func open(_ files: SystemFiles) -> (sources: [any PressureSource], isOff: Bool) {
        (sources: [], isOff: PressureWatch.instruction(files.environment) == .off)
    }
}
#endif
