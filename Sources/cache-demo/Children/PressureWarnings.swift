//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// How a run is told that memory is short where no cgroup makes it so: a pipe that it watches as it would watch a FIFO
/// of systemd's, and where a byte is a warning.
///
/// It opens the pipe by its place in /proc, so there is no file that could stay behind. What it watches so takes the
/// place of the kernel's memory.pressure.
///
/// - SeeAlso: systemd's "Memory Pressure Handling in systemd".
final class PressureWarnings: Sendable {
    /// Seconds between two warnings while memory stays short. A warning holds for four, so the level does not fall in
    /// between, and not at once when the last one has been given.
    static let interval = 1.0

    /// Both ends stay open here, so that the child can open it and a warning never finds it closed.
    private let pipe = Pipe()

    /// `environment` as the child needs it. Nothing is to be written to the pipe after opening it: the child would read
    /// its own greeting as a warning.
    func environment(over environment: [String: String]) -> [String: String] {
        var environment = environment
        environment["MEMORY_PRESSURE_WATCH"] = "/proc/\(getpid())/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        environment["MEMORY_PRESSURE_WRITE"] = nil
        return environment
    }

    /// Warns the child, whether it has begun to watch or not. Controls never read it.
    func warn() { try? pipe.fileHandleForWriting.write(contentsOf: [1]) }
}
