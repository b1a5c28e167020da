//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import Synchronization

/// Counts the readers that may still be looking into the log, so that nobody refills pages under them.
///
/// A segment is emptied (MADV_DONTNEED) while readers may still copy from it: they see zeros and then a tag that does
/// not match. It is *refilled* only after a grace period, in which both of two reader counts have been seen at zero:
/// then every reader that could have found an old location has gone. Within a segment's life its bytes are written
/// once, before they are published, so the kernel is the only writer that a reader can race with.
///
/// Readers never wait. The counts are striped, so that readers on different shards do not share a line.
///
/// - SeeAlso: McKenney, "Sleepable Read-Copy Update" (2006), for the pair of counts.
final class ReaderGate: Sendable {
    /// One line of counts: padded to 128 bytes, the pair of lines that an x86 core prefetches together.
    struct Stripe: ~Copyable {
        let even = Atomic<Int>(0)
        let odd = Atomic<Int>(0)
        let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
        let more: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
    }

    static let stripeCount = 16
    private let phase = Atomic<Int>(0)
    private let generation = ForkGeneration.current
    // Never reassigned, freed in deinit; the counts inside are atomics.
    nonisolated(unsafe) private let stripes: UnsafeMutablePointer<Stripe>

    init() {
        stripes = .allocate(capacity: Self.stripeCount)
        for i in 0..<Self.stripeCount { (stripes + i).initialize(to: Stripe()) }
    }

    deinit {
        stripes.deinitialize(count: Self.stripeCount)
        stripes.deallocate()
    }

    /// Whether this process is a child that was forked after the gate was made.
    var isInherited: Bool { generation != ForkGeneration.current }

    /// A reader's pass: hand it back with ``leave(_:)``.
    struct Pass: ~Copyable, Sendable {
        let stripe: Int
        let parity: Int
    }

    /// Enters; locations looked up from now on stay readable until ``leave(_:)``.
    @inline(__always)
    func enter(_ stripe: Int) -> Pass {
        // Readers of the parent would stay inside for ever, and what they read is wiped.
        if isInherited { ForkGeneration.stopForInheritance(of: "a PurgeableCache") }
        let stripe = stripe & (Self.stripeCount - 1)
        let parity = phase.load(ordering: .relaxed) & 1
        // Sequentially consistent: the count must be seen before any later look at a segment's generation.
        if parity == 0 {
            stripes[stripe].even.wrappingAdd(1, ordering: .sequentiallyConsistent)
        } else {
            stripes[stripe].odd.wrappingAdd(1, ordering: .sequentiallyConsistent)
        }
        return Pass(stripe: stripe, parity: parity)
    }

    @inline(__always)
    func leave(_ pass: consuming Pass) {
        if pass.parity == 0 {
            stripes[pass.stripe].even.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        } else {
            stripes[pass.stripe].odd.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Sends newcomers to the other count if that one is empty. After two successful flips everybody who had entered
    /// before the first has left. Callers hold one lock among themselves.
    func flip() -> Bool {
        let current = phase.load(ordering: .relaxed) & 1
        for i in 0..<Self.stripeCount {
            let others =
                current == 0
                ? stripes[i].odd.load(ordering: .sequentiallyConsistent)
                : stripes[i].even.load(ordering: .sequentiallyConsistent)
            if others != 0 { return false }
        }
        phase.store(current ^ 1, ordering: .sequentiallyConsistent)
        return true
    }
}
