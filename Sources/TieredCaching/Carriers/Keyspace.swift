//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How keys are written in the remote tier: `name:vN:epoch:key`, and `name:vN` for the epoch itself.
///
/// The epoch is drawn at random, and whoever finds none writes one. So losing the epoch's key clears the keyspace; a
/// number counted up would fall back to one that was used before, and bring back what had been cleared.
struct Keyspace: Sendable {
    /// The key of the epoch.
    let epochKey: String

    /// How long an epoch is kept: longer than any process lives that would notice.
    static var epochLifetime: Duration { .seconds(366 * 86_400) }

    init(name: String, version: Int) { epochKey = "\(name):v\(version)" }

    /// What every key of an epoch begins with.
    func prefix(of epoch: String) -> String { "\(epochKey):\(epoch):" }

    /// The key in the remote tier.
    static func remoteKey(_ key: String, prefix: String) -> String {
        var name = ""
        // Every miss makes one: room for all of it at once.
        name.reserveCapacity(prefix.utf8.count + key.utf8.count)
        name += prefix
        name += key
        return name
    }

    /// The key that a key of the remote tier stands for; nil if it is none of this keyspace and epoch.
    ///
    /// - Parameter prefix: what keys of the epoch begin with; nil where it is not known which epoch it is, and any may
    ///   be.
    func localKey(of remoteKey: String, prefix: String?) -> String? {
        let start = prefix ?? "\(epochKey):"
        guard remoteKey.utf8.starts(with: start.utf8) else { return nil }
        var key = remoteKey.utf8.dropFirst(start.utf8.count)
        if prefix == nil {
            guard let end = key.firstIndex(of: 0x3A), Self.epoch(in: Array(key[..<end])) != nil else { return nil }
            key = key[key.index(after: end)...]
        }
        return String(key)
    }

    /// An epoch that was never used: 64 random bits.
    static func newEpoch() -> [UInt8] { Array(String(UInt64.random(in: .min ... .max), radix: 36).utf8) }

    /// The epoch that is written in these bytes; nil if they are no epoch.
    static func epoch(in bytes: [UInt8]) -> String? {
        let isWord = bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        return isWord && (1...16).contains(bytes.count) ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
