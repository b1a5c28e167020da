//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Foundation
import Synchronization

/// A near cache of a few numbers without the library: one thread that blocks on one tracked connection and applies
/// what it reads. It cannot keep old values, so the ages of its stale reads are what the server, the kernel and a busy
/// machine take, and the measure for those of the library.
final class BareConnection: Sendable {
    private let descriptor: Int32
    private let prefix: String
    private let state: Mutex<State>

    private struct State {
        var values: [UInt64?]
        /// Keys that were asked for, in the order of the replies.
        var asked: [Int] = []
    }

    /// - Parameter prefix: what stands before the number in every key.
    init(port: Int, keyCount: Int, prefix: String) throws {
        descriptor = try Loopback.connect(port)
        self.prefix = prefix
        state = Mutex(State(values: Array(repeating: nil, count: keyCount)))
        send("HELLO 3\r\nCLIENT TRACKING ON\r\n")
        // For as long as the process lives.
        Thread.detachNewThread { self.receive() }
    }

    /// What was read last, unless it has changed since: then it is asked for again, and the answer comes by itself.
    func value(_ key: Int) -> UInt64? {
        state.withLock { state in
            if state.values[key] == nil, !state.asked.contains(key) {
                state.asked.append(key)
                send("GET \(prefix)\(key)\r\n")
            }
            return state.values[key]
        }
    }

    private func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Reads lines. Only values are bulk strings of 8 bytes: no key and no word of a report is that long.
    private func receive() {
        guard let stream = fdopen(descriptor, "r") else { return }
        // The answer to HELLO is a map, which ends before that to CLIENT TRACKING.
        while let line = Self.line(stream), line != "+OK" {}
        while let line = Self.line(stream) {
            if line == "_" {
                answer(nil)
            } else if line == "$8" {
                var value: UInt64 = 0
                guard fread(&value, 8, 1, stream) == 1, Self.line(stream) != nil else { return }
                answer(UInt64(littleEndian: value))
            } else if line.hasPrefix(prefix), let key = Int(line.dropFirst(prefix.count)) {
                state.withLock { if $0.values.indices.contains(key) { $0.values[key] = nil } }
            }
        }
    }

    private func answer(_ value: UInt64?) { state.withLock { $0.values[$0.asked.removeFirst()] = value } }

    private static func line(_ stream: UnsafeMutablePointer<FILE>) -> String? {
        var buffer: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(buffer) }
        let count = getline(&buffer, &capacity, stream)
        guard count > 0, let buffer else { return nil }
        return String(cString: buffer).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
#endif
