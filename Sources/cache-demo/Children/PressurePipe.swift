//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc

/// How a run is told that memory is short where no cgroup makes it so: a FIFO of its own that it watches as it would
/// watch one of systemd's, and where a byte is a warning.
///
/// - SeeAlso: systemd's "Memory Pressure Handling in systemd".
final class PressurePipe: Sendable {
    /// Seconds between two warnings while memory stays short. A warning holds for longer, so the level does not fall in
    /// between.
    static let interval = 1.0

    private let folder: String
    private let descriptor: Int32

    /// Makes the FIFO in a folder of its own, which goes with ``remove()`` or with the program.
    init() throws {
        let temporary = FileManager.default.temporaryDirectory.path
        for orphan in Cleanup.orphans(in: temporary) { Self.remove(orphan) }
        let name = "\(temporary)/\(Cleanup.prefix)\(getpid())-XXXXXX"
        var template = Array(name.utf8CString)
        guard mkdtemp(&template) != nil else { throw ControlGroup.Refused(doing: "mkdtemp \(name)") }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let path = Self.path(in: folder)
        // For reading too: so it opens before the child does, and what is written is not refused.
        guard mkfifo(path, 0o600) == 0, case let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK),
            descriptor >= 0
        else {
            let refusal = ControlGroup.Refused(doing: "mkfifo \(path)")
            Self.remove(folder)
            throw refusal
        }
        (self.folder, self.descriptor) = (folder, descriptor)
        Cleanup.add(undo: { Self.remove(folder) })
    }

    deinit { close(descriptor) }

    /// `environment` as the child needs it. Nothing is to be written to a FIFO after opening it: the child would read
    /// its own greeting as a warning.
    func environment(over environment: [String: String]) -> [String: String] {
        var environment = environment
        environment["MEMORY_PRESSURE_WATCH"] = Self.path(in: folder)
        environment["MEMORY_PRESSURE_WRITE"] = nil
        return environment
    }

    /// Warns the child, whether it has begun to watch or not. Controls never do; the bytes are lost with the FIFO.
    func warn() { _ = write(descriptor, [1], 1) }

    /// Removes the FIFO and its folder.
    func remove() { Self.remove(folder) }

    private static func remove(_ folder: String) {
        unlink(path(in: folder))
        rmdir(folder)
    }

    private static func path(in folder: String) -> String { folder + "/pressure" }
}
