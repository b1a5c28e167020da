//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
/// The state of an extent in one word, so that one compare-and-swap is one transition.
///
/// ```
///  63        38  37       36      35       34    33  32   31    20  19   0
///  generation | ordinary | queued | writing | busy | phase | borrows | holds
/// ```
///
/// This type knows what transitions mean and nothing of memory, locks or time.
@usableFromInline
struct ExtentState: Equatable, Sendable {
    @usableFromInline var bits: UInt64

    @inlinable
    init(bits: UInt64) { self.bits = bits }

    /// Where the content is.
    enum Phase: UInt64, Sendable {
        /// In pages that the kernel must keep: pinned while something accesses it, else warm (or ordinary).
        case resident = 0
        /// In pages that the kernel may take.
        case volatile = 1
        /// Gone for good.
        case dead = 2
    }

    // Computed, so that clients into which accesses are inlined see numbers.
    @usableFromInline static var holdUnit: UInt64 { @inlinable get { 1 } }
    @usableFromInline static var borrowUnit: UInt64 { @inlinable get { 1 << 20 } }
    @usableFromInline static var holdMask: UInt64 { @inlinable get { borrowUnit - 1 } }
    @usableFromInline static var borrowMask: UInt64 { @inlinable get { (1 << 32) - borrowUnit } }
    private static let phaseShift: UInt64 = 32
    @usableFromInline static var phaseMask: UInt64 { @inlinable get { 3 << 32 } }
    @usableFromInline static var busyBit: UInt64 { @inlinable get { 1 << 34 } }
    @usableFromInline static var writingBit: UInt64 { @inlinable get { 1 << 35 } }
    @usableFromInline static var queuedBit: UInt64 { @inlinable get { 1 << 36 } }
    private static let ordinaryBit: UInt64 = 1 << 37
    private static let generationUnit: UInt64 = 1 << 38

    /// Set in a dead extent alone.
    @usableFromInline static var deadBit: UInt64 { @inlinable get { 2 << 32 } }

    /// Most accesses that may be open at once by begin and end.
    static let maximumHolds = Int(holdMask)
    /// Most accesses that may be lending bytes out at once.
    static let maximumBorrows = Int(borrowMask / borrowUnit)

    /// A new extent: resident and held once, by whoever fills it.
    static let building = ExtentState(bits: holdUnit)

    var holds: Int { Int(bits & Self.holdMask) }
    var borrows: Int { Int((bits & Self.borrowMask) >> 20) }
    /// Whether any access keeps the content in place.
    var isPinned: Bool { bits & (Self.holdMask | Self.borrowMask) != 0 }

    var phase: Phase {
        get { Phase(rawValue: (bits & Self.phaseMask) >> Self.phaseShift)! }
        set { bits = bits & ~Self.phaseMask | newValue.rawValue << Self.phaseShift }
    }

    /// A transition that needs a system call is under way; pins wait.
    var isBusy: Bool {
        get { bits & Self.busyBit != 0 }
        set { if newValue { bits |= Self.busyBit } else { bits &= ~Self.busyBit } }
    }

    /// Somebody changes the bytes; borrows wait, optimistic reads are void.
    var isWriting: Bool {
        get { bits & Self.writingBit != 0 }
        set { if newValue { bits |= Self.writingBit } else { bits &= ~Self.writingBit } }
    }

    /// The warm queue knows of the extent.
    var isQueued: Bool {
        get { bits & Self.queuedBit != 0 }
        set { if newValue { bits |= Self.queuedBit } else { bits &= ~Self.queuedBit } }
    }

    /// The kernel refused to make the pages volatile, or there are none: memory like any other.
    var isOrdinary: Bool {
        get { bits & Self.ordinaryBit != 0 }
        set { if newValue { bits |= Self.ordinaryBit } else { bits &= ~Self.ordinaryBit } }
    }

    /// Changes with the content: at the beginning and the end of a mutation and at death. Wraps after 2²⁶ changes,
    /// which no single read outlasts.
    @inlinable
    var generation: UInt64 { bits >> 38 }

    mutating func advanceGeneration() { bits &+= Self.generationUnit }

    /// Adds an access; traps where that many cannot be counted.
    mutating func addAccess(borrowing: Bool) {
        if borrowing {
            precondition(borrows < Self.maximumBorrows, "too many overlapping accesses to purgeable bytes")
            bits += Self.borrowUnit
        } else {
            precondition(holds < Self.maximumHolds, "too many nested beginContentAccess() calls")
            bits += Self.holdUnit
        }
    }

    /// Whether an optimistic read may begin: neither dead nor being written.
    @inlinable @inline(__always)
    var isReadable: Bool { bits & (Self.deadBit | Self.writingBit) == 0 }

    /// What one access adds.
    @inlinable @inline(__always)
    static func accessUnit(borrowing: Bool) -> UInt64 { borrowing ? borrowUnit : holdUnit }

    /// Whether an access that was added to this state blindly counts: resident, at rest, and far from the limits.
    @inlinable @inline(__always)
    var admitsAccess: Bool {
        let nearLimit = Self.borrowUnit >> 1 | 1 << 31
        return bits & (Self.phaseMask | Self.busyBit | Self.writingBit | nearLimit) == 0
    }

    /// Whether any access of the kind is open.
    @inlinable @inline(__always)
    func hasAccess(borrowing: Bool) -> Bool { bits & (borrowing ? Self.borrowMask : Self.holdMask) != 0 }

    /// Whether the warm queue should know of the extent and does not: resident, at rest, and nobody accesses it.
    @inlinable @inline(__always)
    var isWarmUnqueued: Bool {
        bits & (Self.borrowMask | Self.holdMask | Self.phaseMask | Self.busyBit | Self.queuedBit) == 0
    }

    /// Whether an optimistic copy that began in `self` and ended in `later` saw one and the same content.
    @inlinable @inline(__always)
    func isSameContent(as later: ExtentState) -> Bool {
        generation == later.generation && bits & Self.writingBit == 0
    }
}
