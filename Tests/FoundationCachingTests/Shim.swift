//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// The one file that gives a whole module this package's classes under Apple's names: see "From NSCache".
@_exported import class FoundationCaching.NSCache
@_exported import protocol FoundationCaching.NSCacheDelegate
