//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// The smallest program that uses the cache: LinkageTests look at what it links.
import MemoryCaching

let cause = RemovalCause.allCases.count
print(cause)
