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

/// Seconds that `body` takes.
func seconds(_ body: () -> Void) -> Double {
    let begin = ContinuousClock.now
    body()
    let time = begin.duration(to: .now)
    return Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
}

/// The middle one of `values`.
func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// `value` with `places` places after the point.
func fixed(_ value: Double, _ places: Int = 2) -> String {
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    let digits = String(Int((value * scale).rounded()))
    let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    return places == 0 ? padded : "\(padded.dropLast(places)).\(padded.suffix(places))"
}

/// Resident bytes of this process.
func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, 256, file) != nil else { return 0 }
    let fields = String(decoding: line.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")
    return (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
}

/// Prints a row and remembers whether the figure was reached.
struct Report: ~Copyable {
    private(set) var missed = 0

    mutating func row(_ what: String, _ figure: Double, _ unit: String, atMost limit: Double, note: String = "") {
        let isReached = figure <= limit
        if !isReached { missed += 1 }
        let name = what + String(repeating: " ", count: max(0, 44 - what.count))
        print("\(name) \(fixed(figure)) \(unit), at most \(fixed(limit)): \(isReached ? "reached" : "MISSED") \(note)")
    }
}
