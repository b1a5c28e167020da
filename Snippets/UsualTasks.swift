// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// The usual tasks, each on both caches.
import MemoryCaching

func download(_ key: String) async throws -> [UInt8] { Array(key.utf8) }
func downloads(_ keys: [String]) async throws -> [String: [UInt8]] { [:] }
func parse(_ key: String) -> [UInt8] { Array(key.utf8) }

let options = MemoryCacheOptions<String, [UInt8]>(
    expiresAfter: .seconds(300),
    staleWindow: .seconds(60),
    keepsExpiredFor: .seconds(3600),
    softLoadTimeout: .milliseconds(100),
    loadTimeout: .seconds(10)
)
let values = MemoryCache<String, [UInt8]>(name: "values", options: options) { _, bytes in bytes.count }
let pages = PurgeableCache<String>(name: "pages", options: options)
let (key, bytes): (String, [UInt8]) = ("user/1", [1, 2, 3])

// snippet.MemoryCache
func withMemoryCache() async throws {
    values[key] = bytes
    values.setValue(bytes, forKey: key)
    values.setValue(bytes, forKey: key, cost: bytes.count)
    _ = values[key]
    _ = values.value(forKey: key)
    _ = values.peekValue(forKey: key)
    _ = values.value(forKey: key, orSet: { parse(key) })
    _ = try await values.value(forKey: key) { try await download(key) }
    _ = try await values.values(forKeys: [key]) { missing in try await downloads(missing) }
    _ = try await values.refreshValue(forKey: key) { try await download(key) }
    values.updateValue(forKey: key) { $0?.append(4) }
    values.setValue(bytes, forKey: key, expiresAfter: .seconds(60))
    values.removeValue(forKey: key)
    values.removeAll { $0.hasPrefix("user/") }
    _ = values.hottestKeys(10) + values.coldestKeys(10)
    _ = values.entries(limit: 10)
    values.trim(toCount: 1000)
    values.trim(toCost: 1 << 20)
    values.removeExpired()
    print(values.statistics)
}

// A value that knows its cost.
struct Article: CacheCostProviding {
    var text: String
    var cacheCost: Int { text.utf8.count }
}
let articles = MemoryCache<Int, Article>(totalCostLimit: 1 << 20)

// snippet.PurgeableCache
func withPurgeableCache() async throws {
    pages.setBytes(bytes, forKey: key)
    _ = pages.bytes(forKey: key)
    _ = pages.withBytes(forKey: key) { $0.byteCount }
    _ = pages.peekBytes(forKey: key)
    _ = pages.bytes(forKey: key, orSet: { parse(key) })
    _ = try await pages.bytes(forKey: key) { try await download(key) }
    _ = try await pages.bytes(forKeys: [key]) { missing in try await downloads(missing) }
    _ = try await pages.refreshBytes(forKey: key) { try await download(key) }
    pages.updateBytes(forKey: key) { $0?.append(4) }
    pages.setBytes(bytes, forKey: key, expiresAfter: .seconds(60))
    pages.removeBytes(forKey: key)
    pages.removeAll { $0.hasPrefix("user/") }
    _ = pages.hottestKeys(10) + pages.coldestKeys(10)
    _ = pages.entries(limit: 10)
    pages.trim(toCount: 1000)
    pages.trim(toCost: 1 << 20)
    pages.removeExpired()
    print(pages.statistics)
}

// snippet.CodedCache
let texts = CodedCache<String, String>(options: .init(expiresAfter: .seconds(60)), codec: .string)

func withCodec() async throws {
    try texts.setValue("text", forKey: key)
    _ = texts.value(forKey: key)
    _ = try texts.value(forKey: key, orSet: { "text" })
    _ = try await texts.values(forKeys: [key]) { _ in [key: "text"] }
    _ = try await texts.value(forKey: key) { String(decoding: try await download(key), as: UTF8.self) }
}
// snippet.hide

try await withMemoryCache()
try await withPurgeableCache()
try await withCodec()
precondition(texts.value(forKey: key) == "text")
articles[1] = Article(text: "text")
precondition(articles.totalCost == 4)
