//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

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
        let work = Unmanaged.passRetained(ThreadWork(name: name, body: body))
        let error = cms_start_thread(
            { pointer in
                let work = Unmanaged<ThreadWork>.fromOpaque(pointer!).takeRetainedValue()
                work.name.withUTF8Buffer { name in
                    name.withMemoryRebound(to: CChar.self) { cms_name_thread($0.baseAddress!) }
                }
                work.body()
                return nil
            },
            work.toOpaque(),
            // Removal handlers run here: enough for them, and no 8 MiB against RLIMIT_AS.
            1 << 20
        )
        if error != 0 { work.release() }
        return error == 0
    }

    /// A number of the calling thread's own, for as long as it runs.
    package static var currentThreadNumber: UInt { cms_thread_number() }

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
}
