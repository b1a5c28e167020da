// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// A value that is loaded once, however many tasks ask for it at a time.
import MemoryCaching

func download(_ path: String) async throws -> [UInt8] { Array(path.utf8) }
func downloads(_ paths: [String]) async throws -> [String: [UInt8]] { [:] }

// snippet.show
let pages = MemoryCache<String, [UInt8]>(name: "pages") { _, bytes in bytes.count }

/// The page, from the cache or else from the network: one download, however many ask.
func page(at path: String) async throws -> [UInt8] {
    try await pages.value(forKey: path) { try await download(path) }
}

/// Several pages, with one request for all that are missing.
func pages(at paths: [String]) async throws -> [String: [UInt8]] {
    try await pages.values(forKeys: paths) { missing in try await downloads(missing) }
}
// snippet.hide

async let first = page(at: "/")
async let second = page(at: "/")
_ = try await (first, second)
let both = try await pages(at: ["/", "/none"])
precondition(pages.statistics.loads == 2 && both.count == 1)
