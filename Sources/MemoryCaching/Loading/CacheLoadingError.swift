//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a cache itself has to say against a load; all other errors are those of the load, passed through.
public enum CacheLoadingError: Error, Sendable, Hashable {
    /// A load asked, directly or through other loads, for the very key that it was loading: it would have waited for
    /// itself for ever. The text describes the key.
    case recursiveLoad(key: String)
}

/// A load has taken longer than ``MemoryCacheOptions/loadTimeout``, and was cancelled.
public struct CacheLoadTimeoutError: Error, Sendable, Hashable {
    /// The key, in words.
    public let key: String
    /// How long the load was allowed to take.
    public let timeout: Duration
}

extension CacheLoadTimeoutError: CustomStringConvertible {
    /// What went wrong, in a sentence.
    public var description: String { "The load of the key \(key) took longer than \(timeout) and was cancelled." }
}

extension CacheLoadingError: CustomStringConvertible {
    /// What went wrong, in a sentence.
    public var description: String {
        switch self {
        case .recursiveLoad(let key):
            "The load of the key \(key) asked for that same key and would have waited for itself for ever."
        }
    }
}
