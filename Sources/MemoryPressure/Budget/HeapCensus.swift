//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What of this process's memory is in use and what lies free in the allocator's heap: the difference between what a
/// cache holds and what the kernel charges for it.
package struct HeapCensus: Sendable, Equatable {
    /// Bytes in use: given out by the allocator, or mapped by others.
    package var held: Int
    /// Bytes that are charged and lie free in the heap: the next insertion may fall into them.
    package var holes: Int
    /// Bytes of ``held`` that are not in pages of purgeable values.
    package var heldBesidePages: Int

    package init(held: Int, holes: Int, heldBesidePages: Int? = nil) {
        self.held = held
        self.holes = holes
        self.heldBesidePages = heldBesidePages ?? held
    }

    /// Bytes in use, with or without pages of purgeable values.
    package func held(withPages: Bool) -> Int { withPages ? held : heldBesidePages }

    /// Reconciles what the allocator says with what is resident.
    ///
    /// What is free need not be resident (a trim returns its pages and it stays free), and what is resident need not be
    /// the allocator's.
    ///
    /// - Parameters:
    ///   - live: bytes that the allocator has given out.
    ///   - unused: bytes that lie free in its heap.
    ///   - resident: bytes of private memory that are resident.
    ///   - pages: bytes of those, at most, that are in pages of purgeable values: the kernel may have taken some.
    package init(live: Int, unused: Int, resident: Int, pages: Int = 0) {
        held = max(live, resident - unused)
        holes = min(unused, max(0, resident - live))
        heldBesidePages = max(live, resident - unused - pages)
    }

    /// Asks the allocator and the kernel; nil where either cannot say. Takes microseconds as a rule, and some ten
    /// milliseconds where half a million free chunks lie scattered over the heap.
    ///
    /// - Parameter pages: bytes in pages of purgeable values.
    package static func take(beside pages: Int = 0) -> HeapCensus? {
        guard let (live, unused) = Platform.allocatorUsage(), live > 0, let resident = residentBytes() else {
            return nil
        }
        return HeapCensus(live: live, unused: unused, resident: resident, pages: pages)
    }

    /// Bytes of this process's private memory that are resident; nil where the kernel does not say. Takes some five
    /// microseconds: the file is opened anew, because one kept over a fork would tell of the parent.
    package static func residentBytes() -> Int? {
        guard let words = SystemFiles.system.text("/proc/self/statm")?.split(separator: " "), words.count > 2,
            let resident = Int(words[1]), let shared = Int(words[2])
        else { return nil }
        return max(0, resident - shared) * Platform.pageSize
    }
}
