//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import CMemoryShims
import Foundation

/// Versions of every key in memory that all processes share, and when each was acknowledged.
final class SharedVersions: @unchecked Sendable {
    // Sendable: all words are read and written by atomic instructions; each has one writer.

    let keyCount: Int
    private let words: UnsafeMutableRawPointer

    /// How many acknowledgements are remembered of each key: at 100 a second, 40 s of them.
    private static let remembered = 4096
    private static var stride: Int { remembered + 2 }

    init(path: String, keyCount: Int) throws {
        self.keyCount = keyCount
        let size = (1 + keyCount * Self.stride) * 8
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(size)) == 0,
            let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else { throw CocoaError(.fileReadUnknown) }
        close(descriptor)
        words = memory
    }

    private func word(_ index: Int) -> UnsafeMutableRawPointer { words + 8 * index }
    private func word(_ key: Int, _ index: Int) -> UnsafeMutableRawPointer { word(1 + key * Self.stride + index) }

    static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// Whether the writer has written for the last time.
    var isOver: Bool {
        get { cms_load_acquire_u64(word(0)) != 0 }
        set { cms_store_release_u64(word(0), newValue ? 1 : 0) }
    }

    /// What the origin has.
    func origin(_ key: Int) -> UInt64 { cms_load_acquire_u64(word(key, 0)) }
    func setOrigin(_ key: Int, _ version: UInt64) { cms_store_release_u64(word(key, 0), version) }

    /// The latest version that the cache has acknowledged.
    func acknowledged(_ key: Int) -> UInt64 { cms_load_acquire_u64(word(key, 1)) }

    func acknowledge(_ key: Int, _ version: UInt64) {
        cms_store_release_u64(word(key, 2 + Int(version) % Self.remembered), Self.now)
        cms_store_release_u64(word(key, 1), version)
    }

    /// For how long `version` had been replaced at `moment`, in nanoseconds; nil if it had not.
    func age(of version: UInt64, forKey key: Int, acknowledged: UInt64, at moment: UInt64) -> UInt64? {
        guard version < acknowledged else { return nil }
        let replaced = cms_load_acquire_u64(word(key, 2 + Int(version + 1) % Self.remembered))
        return moment > replaced ? moment - replaced : 0
    }
}
#endif
