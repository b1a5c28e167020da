//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport && (!os(Linux) || CACHE_PORTABLE)
import NIOCore

/// There is none: the event loop writes everything.
final class DirectSocket: Sendable {
    init?(of channel: any Channel) { return nil }
    func write(_ bytes: inout ByteBuffer) {}
}
#endif
