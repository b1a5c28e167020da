//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

public import Foundation

/// Is told about every object that leaves a cache.
///
/// The cache calls on the thread that caused the departure, outside all its locks, when the object has already left and
/// is still alive. The delegate may use the cache in any way, this one too; the object is not found in it any more.
/// A departure under memory pressure may be caused by, and told on, any thread.
///
/// - SeeAlso: Apple, `NSCacheDelegate`.
public protocol NSCacheDelegate: NSObjectProtocol {
    /// Tells that `obj` has left `cache`, for a limit, under memory pressure, with its content discarded, removed or
    /// replaced by another object: exactly once for each departure. Optional.
    func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any)
}

extension NSCacheDelegate {
    /// Does nothing: the method is optional, as it is on Apple's platforms.
    public func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) {}
}

#endif
