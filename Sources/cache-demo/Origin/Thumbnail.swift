//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation

/// One picture that the origin can serve: which one, and how many bytes it has.
///
/// Both are in its URL, `/thumbnails/<number>-<bytes>.bmp`, so that the origin keeps no state, and so that whoever
/// holds the URL and the seed can make the picture again and compare every byte.
struct Thumbnail: Hashable, Sendable, Codable {
    /// Sizes that the origin serves, in bytes: 2 KB to 200 KB.
    static let servedSizes = 2_000...200_000

    /// Which picture it is.
    var number: UInt64
    /// How many bytes the whole file has.
    var byteCount: Int

    /// Picture `number` with about `byteCount` bytes: what lies outside `servedSizes` is brought to its nearer end.
    init(number: UInt64, byteCount: Int) {
        self.number = number
        self.byteCount = min(max(byteCount, Self.servedSizes.lowerBound), Self.servedSizes.upperBound)
    }

    /// Picture `number` of a catalogue: its size is drawn uniformly from `servedSizes`, 101 KB on the mean.
    init(number: UInt64, seed: UInt64) {
        let sizes = Self.servedSizes
        let draw = SeededGenerator.splitMix(number ^ SeededGenerator.splitMix(seed)) % UInt64(sizes.count)
        self.init(number: number, byteCount: sizes.lowerBound + Int(draw))
    }

    /// Its path on the origin.
    var path: String { "/thumbnails/\(number)-\(byteCount).bmp" }

    /// The picture that `path` names, nil where no picture has that path.
    init?(path: String) {
        guard path.hasPrefix("/thumbnails/"), path.hasSuffix(".bmp") else { return nil }
        let parts = path.dropFirst("/thumbnails/".count).dropLast(".bmp".count)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt64(parts[0]), let byteCount = Int(parts[1]),
            Self.servedSizes.contains(byteCount)
        else { return nil }
        self.init(number: number, byteCount: byteCount)
    }
}
