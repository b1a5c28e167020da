//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

@_exported import class FoundationCaching.NSCache
@_exported import protocol FoundationCaching.NSCacheDelegate
@_exported import protocol FoundationCaching.NSDiscardableContent
@_exported import class FoundationCaching.NSPurgeableData
