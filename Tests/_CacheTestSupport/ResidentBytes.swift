//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure

/// Bytes of this process that are in memory and its own; 0 where the kernel does not say.
public func residentBytes() -> Int { HeapCensus.residentBytes() ?? 0 }
