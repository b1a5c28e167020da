//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// Four atomic words in place. `InlineArray` would do the same, and needs macOS 26.
struct FourAtomics: ~Copyable {
    private let first = Atomic<UInt64>(0)
    private let second = Atomic<UInt64>(0)
    private let third = Atomic<UInt64>(0)
    private let fourth = Atomic<UInt64>(0)

    subscript(index: Int) -> Atomic<UInt64> {
        @inline(__always)
        _read {
            switch index {
            case 0: yield first
            case 1: yield second
            case 2: yield third
            default: yield fourth
            }
        }
    }
}

/// Two atomic numbers in place, each -1 in the beginning.
struct TwoAtomics: ~Copyable {
    private let first = Atomic<Int>(-1)
    private let second = Atomic<Int>(-1)

    subscript(index: Int) -> Atomic<Int> {
        @inline(__always)
        _read { if index == 0 { yield first } else { yield second } }
    }
}
