//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport && os(Linux) && !CACHE_PORTABLE
import Glibc
import NIOCore

/// A connection's socket, by a descriptor of its own: callers may write to it on their own threads, at any time until
/// they have let go of it.
final class DirectSocket: Sendable {
    private let descriptor: CInt

    /// The socket of `channel`, on its event loop; nil if it has none.
    init?(of channel: any Channel) {
        let copy = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            fcntl($0, F_DUPFD_CLOEXEC, 0)
        }
        guard let copy, copy >= 0 else { return nil }
        descriptor = copy
    }

    deinit { close(descriptor) }

    /// Writes what the socket takes at once, and leaves the rest. Whoever writes that learns why it was not taken.
    func write(_ bytes: inout ByteBuffer) {
        let count = bytes.withUnsafeReadableBytes {
            send(descriptor, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        }
        if count > 0 { bytes.moveReaderIndex(forwardBy: count) }
    }
}
#endif
