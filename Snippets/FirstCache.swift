// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// A cache of byte arrays that holds 64 MiB at most, and what it does with them.
// snippet.show
import MemoryCaching

let thumbnails = MemoryCache<String, [UInt8]>(name: "thumbnails", totalCostLimit: 64 << 20) { _, bytes in bytes.count }

thumbnails["cat.png"] = [137, 80, 78, 71]
thumbnails.setValue([71, 73, 70], forKey: "dog.gif", cost: 3, recomputeCost: 40, expiresAfter: .seconds(60))

if let bytes = thumbnails["cat.png"] { print(bytes.count, "bytes") }
print(thumbnails.statistics)
