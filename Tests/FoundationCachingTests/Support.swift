//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Glibc
import Synchronization

extension [UInt8] {
    /// `count` bytes that differ from their neighbours and, as 251 is prime, from page to page.
    static func pattern(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let period = 251
            for index in 0..<Swift.min(period, count) { buffer[index] = UInt8(index) }
            for start in stride(from: period, to: count, by: period) {
                memcpy(buffer.baseAddress! + start, buffer.baseAddress!, Swift.min(period, count - start))
            }
            initialized = count
        }
    }
}

/// Counts the objects alive of one test.
final class LifeCounter: Sendable {
    private let count = Atomic<Int>(0)
    /// Objects alive.
    var alive: Int { count.load(ordering: .relaxed) }
    fileprivate func born() { count.add(1, ordering: .relaxed) }
    fileprivate func died() { count.subtract(1, ordering: .relaxed) }
}

/// An object whose life is counted, with an action for its end.
final class Token {
    let number: Int
    private let counter: LifeCounter?
    private let atEnd: (() -> Void)?

    init(_ number: Int = 0, in counter: LifeCounter? = nil, atEnd: (() -> Void)? = nil) {
        self.number = number
        self.counter = counter
        self.atEnd = atEnd
        counter?.born()
    }

    deinit {
        atEnd?()
        counter?.died()
    }
}

/// A delegate that remembers what it was told.
final class Recorder: NSObject, NSCacheDelegate {
    private(set) var objects: [AnyObject] = []
    private(set) var caches: [NSCache<AnyObject, AnyObject>] = []
    /// What else to do, while the cache waits.
    var action: ((NSCache<AnyObject, AnyObject>, AnyObject) -> Void)?

    func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) {
        objects.append(obj as AnyObject)
        caches.append(cache)
        action?(cache, obj as AnyObject)
    }

    var numbers: [Int] { objects.compactMap { ($0 as? Token)?.number } }
    func forget() { (objects, caches) = ([], []) }
}

/// Content that can be discarded, and made anew when asked for.
final class Tile: NSDiscardableContent {
    var accessCount: Int
    private(set) var isDiscarded = false
    private(set) var discardCalls = 0
    let isRecreated: Bool
    var onDiscard: (() -> Void)?

    init(accessCount: Int = 0, isRecreated: Bool = false) {
        self.accessCount = accessCount
        self.isRecreated = isRecreated
    }

    func beginContentAccess() -> Bool {
        if isDiscarded {
            guard isRecreated else { return false }
            isDiscarded = false
        }
        accessCount += 1
        return true
    }

    func endContentAccess() { accessCount -= 1 }

    func discardContentIfPossible() {
        discardCalls += 1
        guard accessCount == 0 else { return }
        isDiscarded = true
        onDiscard?()
    }

    func isContentDiscarded() -> Bool { isDiscarded }
}

/// The keys of a small cache, in order.
func present(in cache: NSCache<NSNumber, Token>, of range: Range<Int>) -> [Int] {
    range.filter { cache.object(forKey: NSNumber(value: $0)) != nil }
}
