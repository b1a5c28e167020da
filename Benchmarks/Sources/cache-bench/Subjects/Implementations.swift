//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// What is measured, by name.
struct Implementations {
    static let product = "MemoryCache", nsCache = "NSCache (ours)", foundation = "Foundation.NSCache"
    static let dictionary = "Dictionary + Mutex", byHand = "LRU by hand", caffeine = "Caffeine (JVM)"

    /// Beginnings of the names that are wanted; none is all.
    let only: [String]
    /// How many caches an implementation has: one for all threads, or one for each.
    let caches: Int

    /// The names for keys of a kind, without those that are not wanted.
    func names(_ keys: KeyKind) -> [String] {
        let swift = [Self.product, Self.dictionary, Self.byHand, Self.nsCache, Self.foundation]
        let all = keys == .object ? swift : swift + [Self.caffeine]
        return all.filter { name in only.isEmpty || only.contains { name.hasPrefix($0) } }
    }

    /// The implementations for keys of a kind. Caffeine is left out where Java or its jar is missing.
    func subjects(_ keys: KeyKind, _ requests: RequestStore) -> [any Subject] {
        let names = names(keys)
        var subjects: [any Subject]
        switch keys {
        case .integer: subjects = swift(KeyStore<IntegerKeys>(requests), KeyStore<NumberKeys>(requests))
        case .string: subjects = swift(KeyStore<StringKeys>(requests), KeyStore<NSStringKeys>(requests))
        case .object:
            let store = KeyStore<ClassKeys>(requests)
            subjects = swift(store, store)
        }
        subjects.removeAll { !names.contains($0.name) }
        if names.contains(Self.caffeine) {
            do throws(CaffeineSubject.Skipped) {
                subjects.append(try CaffeineSubject(folder: Self.folder, keys: keys, streams: requests.count))
            } catch { say("Caffeine skipped: \(error.reason)") }
        }
        return subjects
    }

    @inline(__always)
    private func swift<Keys: KeyFactory, Objects: KeyFactory>(
        _ keys: KeyStore<Keys>,
        _ objects: KeyStore<Objects>
    ) -> [any Subject] where Keys.Key: Sendable, Objects.Key: AnyObject {
        [
            SwiftSubject(Self.product, MemoryCacheSubject<Keys>.self, keys, caches: caches),
            SwiftSubject(Self.dictionary, DictionarySubject<Keys>.self, keys, caches: caches),
            SwiftSubject(Self.byHand, HandwrittenLRUSubject<Keys>.self, keys, caches: caches),
            SwiftSubject(Self.nsCache, NSCacheSubject<Objects>.self, objects, caches: caches),
            SwiftSubject(Self.foundation, FoundationNSCacheSubject<Objects>.self, objects, caches: caches),
        ]
    }

    /// The package's folder.
    private static var folder: URL {
        (0..<4).reduce(URL(fileURLWithPath: #filePath)) { path, _ in path.deletingLastPathComponent() }
    }

    /// Bytes of an entry with an integer as its key, measured in this process.
    static func bytes(of name: String) -> Double? {
        switch name {
        case product: ResidentBytes.fill(MemoryCacheSubject<IntegerKeys>.self)
        case dictionary: ResidentBytes.fill(DictionarySubject<IntegerKeys>.self)
        case byHand: ResidentBytes.fill(HandwrittenLRUSubject<IntegerKeys>.self)
        case nsCache: ResidentBytes.fill(NSCacheSubject<NumberKeys>.self)
        case foundation: ResidentBytes.fill(FoundationNSCacheSubject<NumberKeys>.self)
        default: nil
        }
    }

    /// The same of a cache that is full and evicts.
    static func bytesUnderChurn(of name: String) -> Double? {
        switch name {
        case product: ResidentBytes.churn(MemoryCacheSubject<IntegerKeys>.self)
        case byHand: ResidentBytes.churn(HandwrittenLRUSubject<IntegerKeys>.self)
        default: nil
        }
    }
}
