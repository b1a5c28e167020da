//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Darwin)

// On Apple's platforms the four names are Foundation's own, handed on, so that one source compiles on both: the rest of
// this module is not compiled there. This file has not been run: there is no Apple machine among those that test it.
@_exported import class Foundation.NSCache
@_exported import protocol Foundation.NSCacheDelegate
@_exported import protocol Foundation.NSDiscardableContent
@_exported import class Foundation.NSPurgeableData

#endif
