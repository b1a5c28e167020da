//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation

/// The `hash` of an `NSURL`, which is that of its string without its base: made from the string it takes a third of the
/// time (91 instead of 240 ns).
enum URLHash {
    @inline(__always)
    static func hash(_ object: AnyObject) -> Int {
        let url = unsafeDowncast(object, to: NSURL.self)
        let hash = url.relativeString.utf8.withContiguousStorageIfAvailable(StringHash.ofASCII)
        return (hash ?? nil) ?? url.hash
    }

    /// Whether Foundation's URLs hash like that, tried on some of every kind.
    static let isHashOfString: Bool = {
        guard StringHash.isFoundations else { return false }
        let base = URL(string: "https://example.com/a/b?c=d")
        let urls = [
            NSURL(string: "https://user:word@example.com:8080/a%20b/c?d=e&f#g"), NSURL(string: "mailto:a@example.com"),
            NSURL(string: "../e?f#g", relativeTo: base), NSURL(string: "", relativeTo: base),
            NSURL(fileURLWithPath: "/tmp/a b/ü"), NSURL(fileURLWithPath: "relative/", isDirectory: true),
        ]
        return urls.allSatisfy { $0.map { hash($0) == $0.hash } ?? false }
    }()
}

#endif
