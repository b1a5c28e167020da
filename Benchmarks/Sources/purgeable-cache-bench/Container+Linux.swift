//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A memory cgroup that this process moves into.
struct Container {
    private let directory: String
    private let root: String

    /// Makes the cgroup and enters it; nil where that is not allowed.
    init?(limitBytes: Int) {
        let isVersion1 = access("/sys/fs/cgroup/memory/memory.limit_in_bytes", R_OK) == 0
        root = isVersion1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup"
        directory = root + "/purgeable-cache-bench-\(getpid())"
        guard mkdir(directory, 0o755) == 0,
            Self.write("\(limitBytes)", directory + (isVersion1 ? "/memory.limit_in_bytes" : "/memory.max")),
            Self.write("\(getpid())", directory + "/cgroup.procs")
        else {
            rmdir(directory)
            return nil
        }
    }

    /// Goes back to the root and removes the cgroup.
    func leave() {
        _ = Self.write("\(getpid())", root + "/cgroup.procs")
        rmdir(directory)
    }

    private static func write(_ text: String, _ path: String) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        let written = fputs(text, file)
        return fclose(file) == 0 && written >= 0
    }

    /// Bytes of this process that are in memory.
    static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var size = 0
        var resident = 0
        withUnsafeMutablePointer(to: &size) { first in
            withUnsafeMutablePointer(to: &resident) { second in
                _ = withVaList([first, second]) { vfscanf(file, "%ld %ld", $0) }
            }
        }
        return resident * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
}
