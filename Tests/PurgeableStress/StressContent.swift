//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Bytes that prove themselves: any page shows which value, version and place it belongs to.
///
/// A lost page reads as zeros, so some pages are zero on purpose and some have a single word that is not: those are
/// where a faulty witness would go unnoticed.
struct StressContent {
    /// Which value; the same through all its versions.
    let slot: Int
    let pageSize: Int

    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var wordCount: Int { pageSize / 8 }

    private enum Kind { case full, single, zero }

    private func kind(_ page: Int) -> Kind {
        switch (slot &+ page) % 8 {
        case 3: page > 0 ? .zero : .full
        case 5: .single
        default: .full
        }
    }

    /// The first word of a full page: version, slot and page; never 0.
    private func tag(_ version: UInt32, _ page: Int) -> UInt64 {
        UInt64(page) << 48 | UInt64(slot + 1) << 32 | UInt64(version)
    }

    private func singlePosition(_ page: Int) -> Int { (slot &* 31 &+ page &* 7) % wordCount }

    /// Writes all pages of a version.
    func fill(_ bytes: UnsafeMutableRawBufferPointer, version: UInt32) {
        for page in 0..<bytes.count / pageSize {
            let words = (bytes.baseAddress! + page * pageSize).assumingMemoryBound(to: UInt64.self)
            let tag = tag(version, page)
            switch kind(page) {
            case .full: for index in 0..<wordCount { words[index] = tag &+ UInt64(index) &* Self.step }
            case .single:
                for index in 0..<wordCount { words[index] = 0 }
                words[singlePosition(page)] = tag
            case .zero: for index in 0..<wordCount { words[index] = 0 }
            }
        }
    }

    /// Whether `bytes`, which begin at `firstPage`, are all of one version of this value.
    func isIntact(_ bytes: UnsafeRawBufferPointer, firstPage: Int) -> Bool {
        var version: UInt32?
        for offset in 0..<bytes.count / pageSize {
            let page = firstPage + offset
            let words = (bytes.baseAddress! + offset * pageSize).assumingMemoryBound(to: UInt64.self)
            let found: UInt64
            switch kind(page) {
            case .full:
                found = words[0]
                guard isFull(words, found) else { return false }
            case .single:
                found = words[singlePosition(page)]
                guard isSingle(words, found) else { return false }
            case .zero:
                guard isSingle(words, 0) else { return false }
                continue
            }
            let read = UInt32(truncatingIfNeeded: found)
            guard found == tag(read, page), version == nil || version == read else { return false }
            version = read
        }
        return true
    }

    private func isFull(_ words: UnsafePointer<UInt64>, _ first: UInt64) -> Bool {
        var difference: UInt64 = 0
        for index in 0..<wordCount { difference |= words[index] ^ (first &+ UInt64(index) &* Self.step) }
        return difference == 0
    }

    /// Whether the words add up to the one that may differ from 0.
    private func isSingle(_ words: UnsafePointer<UInt64>, _ single: UInt64) -> Bool {
        var union: UInt64 = 0
        for index in 0..<wordCount { union |= words[index] }
        return union == single
    }
}
