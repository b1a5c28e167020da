//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

package import MemoryPressure

/// Keeps the caches of the process within the memory there is.
@usableFromInline
package final class MemoryGovernor: Sendable {
    /// The one that watches this process's real memory; started by the first cache that holds something.
    @usableFromInline package static let shared = MemoryGovernor()

    package init() {}

    /// The governor that listens to `monitor`: one for each monitor, for as long as anybody keeps it.
    package static func listening(to monitor: MemoryPressureMonitor) -> MemoryGovernor { shared }
}
