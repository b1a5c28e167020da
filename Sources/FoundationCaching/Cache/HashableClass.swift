//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import ForkSafety
import Synchronization

/// How objects of one class that is `Hashable`, and no `NSObject`, are hashed and compared.
///
/// A cast to `any Hashable` asks the runtime for the conformance, and `AnyHashable` asks for it again: a hit took
/// 1.6 µs with both, and takes .24. So the answer is remembered by class, as in ``ClassTraits``, and the object is
/// handed to the class's own `hash(into:)` and `==`.
final class HashableClass: Sendable {
    private let address: UInt
    // Names a class and its conformance, neither of which ever changes.
    nonisolated(unsafe) private let type: any (AnyObject & Hashable).Type

    private init?(_ object: AnyObject) {
        guard let type = Swift.type(of: object) as? any (AnyObject & Hashable).Type else { return nil }
        self.type = type
        address = ClassTraits.addressOfClass(of: object)
    }

    /// The object's own `hashValue`. Objects of a class and of its subclasses have one conformance, the inherited one.
    static func hash(_ object: AnyObject) -> Int {
        func hash<Class: AnyObject & Hashable>(_ type: Class.Type) -> Int {
            unsafeDowncast(object, to: Class.self).hashValue
        }
        if let hash = withClass(of: object, { hash($0.type) }) { return hash }
        return (object as? any Hashable).map { AnyHashable($0).hashValue } ?? 0
    }

    /// Whether two objects are equal, each of a class that is `Hashable`.
    static func areEqual(_ left: AnyObject, _ right: AnyObject) -> Bool {
        func areEqual<Class: AnyObject & Hashable>(_ type: Class.Type) -> Bool {
            unsafeDowncast(left, to: Class.self) == unsafeDowncast(right, to: Class.self)
        }
        if ClassTraits.addressOfClass(of: left) == ClassTraits.addressOfClass(of: right),
            let areEqual = withClass(of: left, { areEqual($0.type) })
        {
            return areEqual
        }
        guard let left = left as? any Hashable, let right = right as? any Hashable else { return false }
        // `AnyHashable` knows what two classes have inherited from the same one.
        return AnyHashable(left) == AnyHashable(right)
    }

    /// Calls `body` with what is known of the object's class; nil where it is not the class that is `Hashable` but what
    /// the object is a box of. Records stay for ever, so none is retained.
    @inline(__always)
    private static func withClass<Result>(of object: AnyObject, _ body: (HashableClass) -> Result) -> Result? {
        let address = ClassTraits.addressOfClass(of: object)
        let place = table + ClassTraits.index(of: UInt64(address))
        if let known = UnsafeRawPointer(bitPattern: place.pointee.load(ordering: .acquiring)) {
            let result = Unmanaged<HashableClass>.fromOpaque(known)._withUnsafeGuaranteedRef {
                $0.address == address ? body($0) : nil
            }
            if let result { return result }
        }
        return find(object, address, place).map(body)
    }

    @inline(never)
    private static func find(
        _ object: AnyObject,
        _ address: UInt,
        _ place: UnsafeMutablePointer<Atomic<UInt>>
    ) -> HashableClass? {
        let record = all.withLock { all in
            if all[address] == nil { all[address] = HashableClass(object) }
            return all[address]
        }
        guard let record else { return nil }
        place.pointee.store(UInt(bitPattern: Unmanaged.passUnretained(record).toOpaque()), ordering: .releasing)
        return record
    }

    /// One record for each class that was ever met, which keeps it alive.
    private static let all = ForkSafeMutex<[UInt: HashableClass]>([:])
    /// The records that were met last, by place; 0 where there is none. Never freed, read and written atomically.
    nonisolated(unsafe) private static let table: UnsafeMutablePointer<Atomic<UInt>> = {
        let table = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: ClassTraits.size)
        for index in 0..<ClassTraits.size { (table + index).initialize(to: Atomic(0)) }
        return table
    }()
}

#endif
