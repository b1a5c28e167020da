//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension HostLookup {
    /// The addresses of `host`; none where it has none. Waits for as long as the system's resolver does.
    ///
    /// - SeeAlso: getaddrinfo(3).
    static func addresses(of host: String, port: Int) -> [SocketAddress] {
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", nil, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = first
        while let info = next {
            // Each address comes once for each type of socket.
            if let address = address(info.pointee, host), !found.contains(address) { found.append(address) }
            next = info.pointee.ai_next
        }
        return found
    }

    private static func address(_ info: addrinfo, _ host: String) -> SocketAddress? {
        guard let address = info.ai_addr else { return nil }
        let raw = UnsafeRawPointer(address)
        switch info.ai_family {
        case AF_INET: return SocketAddress(raw.loadUnaligned(as: sockaddr_in.self), host: host)
        case AF_INET6: return SocketAddress(raw.loadUnaligned(as: sockaddr_in6.self), host: host)
        default: return nil
        }
    }
}
#endif
