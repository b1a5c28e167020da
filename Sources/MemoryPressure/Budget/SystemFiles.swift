//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where the system's own files are found: `/proc`, `/sys/fs/cgroup` and the environment.
///
/// Everything that this module reads of the system goes through one of these, so that a test can put a directory of
/// files in the system's place.
package struct SystemFiles: Sendable {
    /// Put before every absolute path; empty for the real system.
    package var root: String

    /// The value of an environment variable.
    package var environment: @Sendable (String) -> String?

    /// Bytes that lie free in the allocator's heap; 0 for a directory of files.
    package var unusedHeapBytes: @Sendable () -> Int = { 0 }

    /// The files below `root`, and `environment` in the place of the process's own.
    package init(root: String, environment: @escaping @Sendable (String) -> String? = { _ in nil }) {
        self.root = root
        self.environment = environment
    }

    /// The real system's.
    package static let system = {
        var files = SystemFiles(root: "", environment: Platform.environment)
        files.unusedHeapBytes = { Platform.allocatorUsage()?.unused ?? 0 }
        return files
    }()

    /// The text of the file at `path`, or nil where it is missing, unreadable or a directory.
    package func text(_ path: String) -> String? { Platform.read(root + path) }

    /// Whether there is a directory at `path`.
    package func hasDirectory(_ path: String) -> Bool { Platform.isDirectory(root + path) }
}

/// The system calls that this module makes; each platform has a file of them.
package enum Platform {}

extension StringProtocol {
    /// The number that this text is: a decimal, blanks around it allowed; nil for "max", for garbage, and for what is
    /// too large to be a size (the kernel's ways to say "no limit").
    var byteCount: Int? {
        let word = self.split(whereSeparator: \.isWhitespace)
        guard word.count == 1, let number = Int(word[0]), number >= 0 else { return nil }
        // The kernel's "unlimited" of version 1 is the largest multiple of a page: nobody has 2^62 bytes.
        return number < 1 << 62 ? number : nil
    }

    /// The number after `name` and a blank at the beginning of a line, as in `memory.stat`.
    func number(after name: String) -> Int? {
        for line in self.split(separator: "\n") {
            let words = line.split(whereSeparator: \.isWhitespace)
            if words.count >= 2, words[0] == name { return Int(words[1]) }
        }
        return nil
    }
}
