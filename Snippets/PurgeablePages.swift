// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Rendered pages in memory that the kernel takes back when it needs it, without asking.
import MemoryCaching

func render(_ path: String) -> [UInt8] { Array("<p>\(path)</p>".utf8) }

// snippet.show
let rendered = PurgeableCache<String>(name: "rendered")  // no limit: what is left over is used

func page(at path: String) -> [UInt8] {
    if let bytes = rendered.bytes(forKey: path) { return bytes }
    let bytes = render(path)
    rendered.setBytes(bytes, forKey: path)
    return bytes
}
// snippet.hide

precondition(page(at: "/a") == page(at: "/a"))
