//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux) && !CACHE_PORTABLE
internal import CMemoryShims
internal import Synchronization
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
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
        // Removal handlers run here: enough for them, and no 8 MiB against RLIMIT_AS.
        pthread_attr_setstacksize(&attributes, 1 << 20)

        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let work = Unmanaged.passRetained(ThreadWork(name: name, body: body))
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            &attributes,
            { pointer in
                let work = Unmanaged<ThreadWork>.fromOpaque(pointer!).takeRetainedValue()
                work.name.withUTF8Buffer { name in
                    name.withMemoryRebound(to: CChar.self) { cms_name_thread($0.baseAddress!) }
                }
                work.body()
                return nil
            },
            work.toOpaque()
        )
        if error != 0 { work.release() }
        return error == 0
    }

    typealias ThreadIdentity = pthread_t

    static var currentThread: ThreadIdentity { pthread_self() }

    /// A number of the calling thread's own, for as long as it runs.
    package static var currentThreadNumber: UInt { UInt(pthread_self()) }

    /// Asks the allocator to return its free memory to the system: by its own call, where another one than the C
    /// library's is known to be in use.
    package static func trimAllocator() { cms_allocator_trim() }

    /// Whose `malloc` this process uses, for people.
    package static var allocatorName: String {
        switch cms_allocator() {
        case CMS_SYSTEM_ALLOCATOR: "system"
        case CMS_JEMALLOC: "jemalloc"
        case CMS_TCMALLOC: "tcmalloc"
        case CMS_MIMALLOC: "mimalloc"
        default: "unknown"
        }
    }

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
        let count = Glibc_poll(&polled, nfds_t(polled.count), timeout)
        guard count > 0 else { return [] }
        return polled.compactMap { $0.revents == 0 ? nil : PolledDescriptor(descriptor: $0.fd, events: $0.revents) }
    }

    static let pollInput = cms_POLLIN
    static let pollPriority = cms_POLLPRI
    static let pollError = cms_POLLERR
}

/// The C library's poll, which ``Platform/poll(_:until:)`` hides.
private func Glibc_poll(_ descriptors: UnsafeMutablePointer<pollfd>, _ count: nfds_t, _ timeout: Int32) -> Int32 {
    poll(descriptors, count, timeout)
}

private final class ThreadWork: Sendable {
    let name: StaticString
    let body: @Sendable () -> Void
    init(name: StaticString, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

/// Counts something that others wait for. No lock, which a thread of a parent could hold in a child of fork.
package final class CompletionCounter: Sendable {
    private let value = Atomic<UInt32>(0)

    package init() {}

    /// How often ``advance()`` was called.
    package var count: Int { Int(value.load(ordering: .acquiring)) }

    /// Counts one more and wakes all who wait.
    package func advance() {
        value.add(1, ordering: .acquiringAndReleasing)
        withUnsafePointer(to: value) { cms_futex_wake_all($0) }
    }

    /// Waits until the count is above `seen`, or `nanoseconds` are over.
    package func wait(past seen: Int, nanoseconds: UInt64) {
        let begin = Platform.monotonicNanoseconds()
        while true {
            let now = value.load(ordering: .acquiring)
            let gone = Platform.monotonicNanoseconds() &- begin
            guard now <= seen, gone < nanoseconds else { return }
            withUnsafePointer(to: value) { cms_futex_wait($0, now, Int(min(nanoseconds - gone, 999_999_999))) }
        }
    }
}

/// An eventfd: readable from ``signal()`` until ``clear()``. Closed with the last reference.
final class WakeDescriptor: Sendable {
    let polled: PolledDescriptor

    init?() {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        polled = PolledDescriptor(descriptor: descriptor, events: cms_POLLIN)
    }

    deinit { close(polled.descriptor) }

    func signal() {
        var one: UInt64 = 1
        _ = write(polled.descriptor, &one, 8)
    }

    func clear() {
        var count: UInt64 = 0
        _ = read(polled.descriptor, &count, 8)
    }
}
#endif
