//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#if ValkeySupport
import Foundation
import Synchronization

/// A hole in the network: passes bytes on to a server on loopback, or takes them and tells nobody.
final class BlackHole: Sendable {
    let port: Int
    private let target: Int
    private let isSwallowing = Atomic<Bool>(false)

    init(before target: Int) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try Self.bindAnywhere(listener)
        guard listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 { serve(client) }
        }
    }

    func swallow(_ isSwallowing: Bool) { self.isSwallowing.store(isSwallowing, ordering: .releasing) }

    private func serve(_ client: Int32) {
        guard let server = try? Loopback.connect(target) else {
            close(client)
            return
        }
        var on: Int32 = 1
        setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        let open = OpenEnds()
        Thread.detachNewThread { [self] in pass(from: client, to: server, open) }
        Thread.detachNewThread { [self] in pass(from: server, to: client, open) }
    }

    /// Until one side closes, or bytes are missing from what would come next.
    private func pass(from source: Int32, to sink: Int32, _ open: OpenEnds) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var hasSwallowed = false
        while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
            if isSwallowing.load(ordering: .acquiring) {
                hasSwallowed = true
            } else if hasSwallowed || send(sink, buffer, count, Int32(MSG_NOSIGNAL)) != count {
                break
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
        // The last of the two threads: the numbers may be given to others from now on.
        if open.isLast() {
            close(source)
            close(sink)
        }
    }

    private final class OpenEnds: Sendable {
        private let left = Atomic(2)
        func isLast() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
    }

    private static func bindAnywhere(_ listener: Int32) throws -> Int {
        guard Loopback.withAddress(0, { bind(listener, $0, $1) }) == 0 else { throw POSIXError(.EADDRINUSE) }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
#endif
