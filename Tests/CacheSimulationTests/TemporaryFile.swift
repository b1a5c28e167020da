//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// A file that is gone with the value that names it.
final class TemporaryFile {
    let path: String

    init(_ bytes: [UInt8], extension suffix: String = "trace") throws {
        path = NSTemporaryDirectory() + "cache-simulation-\(UUID().uuidString).\(suffix)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    convenience init(_ text: String, extension suffix: String = "csv") throws {
        try self.init(Array(text.utf8), extension: suffix)
    }

    deinit { unlink(path) }

    /// The same bytes after `program` (gzip, zstd) has packed them.
    func packed(with program: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program, "-c", path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Array(data)
    }
}

/// Numbers as little-endian bytes.
func littleEndian(_ numbers: any FixedWidthInteger...) -> [UInt8] {
    func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.littleEndian, Array.init) }
    return numbers.flatMap { bytes($0) }
}
