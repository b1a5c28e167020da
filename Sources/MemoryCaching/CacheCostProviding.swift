//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import PurgeableMemory

/// A value that knows what it costs in a cache with a `totalCostLimit`.
///
/// A ``MemoryCache`` with such a limit must know the cost of each value. It asks, in this order: the `cost` that is
/// given with the value, the closure that is given to the cache, and the value itself if its type conforms to this
/// protocol. Strings and `PurgeableBytes` conform; types without references, such as numbers, and arrays of those are
/// measured without it. A value of any other type ends the process with a message when it is first inserted, because
/// the limit would have no effect on it.
///
/// ```swift
/// extension Page: CacheCostProviding {
///     var cacheCost: Int { html.utf8.count }
/// }
/// ```
public protocol CacheCostProviding: SendableMetatype {
    /// What the value costs, in bytes by convention. Negative costs count as 0, and an entry of cost 0 is never evicted
    /// for the cost limit. Called on the thread that inserts, outside every lock.
    var cacheCost: Int { get }
}

/// A string costs the bytes of its text.
extension String: CacheCostProviding {
    /// The bytes of its UTF-8, at least 1.
    public var cacheCost: Int { Swift.max(1, utf8.count) }
}

/// A substring costs the bytes of its own text, though it keeps the whole string in memory.
extension Substring: CacheCostProviding {
    /// The bytes of its UTF-8, at least 1.
    public var cacheCost: Int { Swift.max(1, utf8.count) }
}

/// Purgeable bytes cost what they hold, whether the kernel has taken them or not.
extension PurgeableBytes: CacheCostProviding {
    /// Its bytes, at least 1.
    public var cacheCost: Int { max(1, byteCount) }
}

/// Arrays of any element, of which those without references are measured. Not a conformance to `CacheCostProviding`,
/// because that cannot depend on `BitwiseCopyable`.
private protocol ElementArray: SendableMetatype {
    static var isTrivial: Bool { get }
    var elementBytes: Int { get }
}

extension ElementArray where Self: Collection {
    static var isTrivial: Bool { _isPOD(Element.self) }
    var elementBytes: Int { Swift.max(1, count * MemoryLayout<Element>.stride) }
}

extension Array: ElementArray {}
extension ArraySlice: ElementArray {}
extension ContiguousArray: ElementArray {}

/// How a cache learns the costs of values that are set without one. Chosen once for each cache, because asking a type
/// for its conformances takes longer than an insertion.
enum CostMeasure<Key, Value> {
    /// The measure for a cache whose owner has given no closure.
    static func ofType() -> @Sendable (Key, Value) -> Int {
        if let type = Value.self as? any CacheCostProviding.Type { return provided(type) }
        if let type = Value.self as? any ElementArray.Type, type.isTrivial { return ofElements(type) }
        if _isPOD(Value.self) { return { _, _ in max(1, MemoryLayout<Value>.size) } }
        return { _, _ in
            fatalError(
                """
                A cache with a totalCostLimit cannot measure \(Value.self): give the cost to MemoryCache.init(cost:) \
                or to setValue(_:forKey:cost:), or conform the type to CacheCostProviding.
                """
            )
        }
    }

    private static func provided<Known: CacheCostProviding>(_: Known.Type) -> @Sendable (Key, Value) -> Int {
        { _, value in unsafeBitCast(value, to: Known.self).cacheCost }
    }

    private static func ofElements<Known: ElementArray>(_: Known.Type) -> @Sendable (Key, Value) -> Int {
        { _, value in unsafeBitCast(value, to: Known.self).elementBytes }
    }
}
