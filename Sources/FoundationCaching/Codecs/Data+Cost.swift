//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Foundation
public import MemoryCaching

/// Data costs its bytes.
extension Data: CacheCostProviding {
    /// Its bytes, at least 1.
    public var cacheCost: Int { Swift.max(1, count) }
}
