//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

package import PurgeableMemory
import Synchronization

/// System calls that fail on demand and are counted, over the real ones.
package final class FaultySystem: Sendable {
    private struct State {
        var refusals: [PageAdvice: CInt] = [:]
        var mapError: CInt = 0
        var largestMapping = Int.max
        var residencyError: CInt = 0
        var limit: Int?
        var calls: [PageAdvice: Int] = [:]
        var mapped = 0
        var mappings = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Every later call with `advice` answers `error`, EINVAL unless it is given; nil lets it through again.
    package func refuse(_ advice: PageAdvice, with error: CInt? = 22) { state.withLock { $0.refusals[advice] = error } }

    /// Mappings of more than `byteCount` bytes are refused, as RLIMIT_AS would.
    package func refuseMappings(above byteCount: Int) { state.withLock { $0.largestMapping = byteCount } }

    /// No more than `byteCount` bytes may be mapped from now on, as below RLIMIT_AS.
    package func limitMapping(to byteCount: Int = .max) { state.withLock { $0.limit = byteCount } }

    /// The census answers `error`, ENOMEM unless it is given.
    package func refuseResidency(with error: CInt = 12) { state.withLock { $0.residencyError = error } }

    /// How often `advice` was given, refused or not.
    package func calls(_ advice: PageAdvice) -> Int { state.withLock { $0.calls[advice, default: 0] } }

    /// Bytes mapped and not yet unmapped.
    package var mappedByteCount: Int { state.withLock { $0.mapped } }

    /// Mappings made and not yet unmapped.
    package var mappingCount: Int { state.withLock { $0.mappings } }

    /// The calls to hand to the page layer.
    package var system: PageSystem {
        PageSystem(
            map: { [self] byteCount in
                let isRefused = state.withLock { state in
                    byteCount > state.largestMapping || state.limit.map { byteCount > $0 - state.mapped } ?? false
                }
                if isRefused { return (nil, 12) }
                let answer = PageSystem.live.map(byteCount)
                if answer.base != nil {
                    state.withLock { state in
                        state.mapped += byteCount
                        state.mappings += 1
                    }
                }
                return answer
            },
            unmap: { [self] base, byteCount in
                state.withLock { state in
                    state.mapped -= byteCount
                    state.mappings -= 1
                }
                return PageSystem.live.unmap(base, byteCount)
            },
            advise: { [self] base, byteCount, advice in
                let refusal: CInt? = state.withLock {
                    $0.calls[advice, default: 0] += 1
                    return $0.refusals[advice]
                }
                return refusal ?? PageSystem.live.advise(base, byteCount, advice)
            },
            residency: { [self] base, byteCount, answer in
                let error = state.withLock { $0.residencyError }
                return error != 0 ? error : PageSystem.live.residency(base, byteCount, answer)
            },
            limitsMapping: { [self] in state.withLock { $0.limit != nil } }
        )
    }
}

/// Makes the kernel take back what it may of `run`, as memory pressure would.
package func squeeze(_ base: UnsafeMutableRawPointer, byteCount: Int) {
    _ = PageSystem.live.advise(base, byteCount, .pageOut)
}
