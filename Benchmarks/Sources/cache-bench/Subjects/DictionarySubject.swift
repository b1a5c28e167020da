//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What people write by hand: a dictionary under a mutex. It has no limit and evicts nothing.
final class DictionarySubject<Keys: KeyFactory>: BenchmarkedCache where Keys.Key: Sendable {
    private let values = Mutex<[Keys.Key: UInt64]>([:])

    init(limit: Int) {}
    static func value(_ number: UInt64) -> UInt64 { number }
    func get(_ key: Keys.Key) -> UInt64? { values.withLock { $0[key] } }
    func set(_ value: UInt64, _ key: Keys.Key) { values.withLock { $0[key] = value } }
}
