//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Bytes of the process's own memory that are resident: `resident` less `shared` of `/proc/self/statm`; 0 where the kernel
/// does not say.
///
/// Pages of files are left out. What is measured with it is how much a cache holds, and half a megabyte of the program's
/// text, read for the first time while the cache is filled, would count as half a byte of each of a million entries.
///
/// - SeeAlso: proc_pid_statm(5).
public func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 256)
    let count = fread(&line, 1, line.count, file)
    let fields = String(decoding: line[..<count], as: UTF8.self).split(separator: " ")
    guard fields.count > 2, let resident = Int(fields[1]), let shared = Int(fields[2]) else { return 0 }
    return (resident - shared) * sysconf(Int32(_SC_PAGESIZE))
}
