//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import FoundationCaching

typealias NSCache = FoundationCaching.NSCache
typealias NSCacheDelegate = FoundationCaching.NSCacheDelegate
typealias NSDiscardableContent = FoundationCaching.NSDiscardableContent
typealias NSPurgeableData = FoundationCaching.NSPurgeableData
