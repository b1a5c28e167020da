//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

/// A delegate and the cache it serves; keeps neither alive.
///
/// Immutable, so that a departure on one thread may tell while another thread sets a new delegate: weak references are
/// safe to read from many threads as long as nobody assigns them.
final class DelegateLink: @unchecked Sendable {
    // Sendable because it never changes; what the delegate does with threads is its own affair, as everywhere.

    /// The delegate, while it lives.
    weak let delegate: (any NSCacheDelegate)?
    /// The cache, until its deinitialisation begins: from then on nobody is told anything.
    private weak let cache: NSCache<AnyObject, AnyObject>?

    init<Key, Object>(delegate: any NSCacheDelegate, cache: NSCache<Key, Object>) {
        self.delegate = delegate
        // Apple's signature names a cache of any objects. The classes of keys and objects do not show in a cache's
        // layout, and its own dispatch table comes along. A checked cast, and `unsafeDowncast` in a debug build, would
        // see that the two types are unrelated.
        self.cache = Unmanaged<NSCache<AnyObject, AnyObject>>
            .fromOpaque(Unmanaged.passUnretained(cache).toOpaque()).takeUnretainedValue()
    }

    /// Tells the delegate that `object` has left.
    func tell(_ object: AnyObject) {
        guard let delegate, let cache else { return }
        delegate.cache(cache, willEvictObject: object)
    }
}

#endif
