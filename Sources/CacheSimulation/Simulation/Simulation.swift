//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Runs policies over traces.
public enum Simulation {
    /// What `policy` makes of `trace` with a cache of `capacity`.
    ///
    /// - Parameters:
    ///   - policy: Which keys to keep.
    ///   - trace: The requests.
    ///   - capacity: Bytes for a sized trace, entries otherwise; at least 1.
    ///   - costs: What misses cost; all but ``CostModel/none`` are told to the policies that weigh costs.
    /// - Complexity: O(*n* log *n*) in the requests at worst. To run several policies or sizes use ``SimulationPlan``,
    ///   which prepares the trace once.
    public static func run(
        _ policy: SimulatedPolicy,
        over trace: Trace,
        capacity: Int,
        costs: CostModel = .none
    ) -> SimulationResult {
        run(policy, over: IndexedTrace(trace, costs: costs), capacity: capacity)
    }

    /// The same over a trace made ready; `progress` is told now and then how many more requests are done.
    package static func run(
        _ policy: SimulatedPolicy,
        over trace: IndexedTrace,
        capacity: Int,
        progress: (Int) -> Void = { _ in }
    ) -> SimulationResult {
        var setting = PolicySetting(capacity: max(1, capacity), trace: trace, weighsCosts: trace.hasCosts)
        if policy.isOffline { setting.nextPositions = trace.nextPositions() }
        switch policy {
        case .memoryCache: return replay(MemoryCachePolicy(setting), policy, setting, progress)
        case .fifo: return replay(FIFOPolicy(setting), policy, setting, progress)
        case .lru: return replay(LRUPolicy(setting), policy, setting, progress)
        case .arc: return replay(ARCPolicy(setting), policy, setting, progress)
        case .sieve: return replay(SIEVEPolicy(setting), policy, setting, progress)
        case .s3FIFO: return replay(S3FIFOPolicy(setting), policy, setting, progress)
        case .wTinyLFU: return replay(WTinyLFUPolicy(setting), policy, setting, progress)
        case .gdsf:
            setting.weighsCosts = false
            return replay(GDSFPolicy(setting), policy, setting, progress)
        case .gdsfCost: return replay(GDSFPolicy(setting), policy, setting, progress)
        case .foundationNSCache: return replay(FoundationNSCachePolicy(setting), policy, setting, progress)
        case .belady: return replay(BeladyPolicy(setting), policy, setting, progress)
        case .belSize: return replay(BelSizePolicy(setting), policy, setting, progress)
        }
    }

    private static func replay<Policy: CachePolicy>(
        _ cache: consuming Policy,
        _ policy: SimulatedPolicy,
        _ setting: PolicySetting,
        _ progress: (Int) -> Void
    ) -> SimulationResult {
        var cache = cache
        let trace = setting.trace
        var result = SimulationResult(policy: policy, capacity: setting.capacity)
        for (position, number) in trace.requests.enumerated() {
            let key = Int(number)
            let isHit = cache.request(key, at: position)
            result.count(isHit: isHit, bytes: trace.sizes[key], cost: trace.costs[key])
            if position & 0xFFFF == 0xFFFF { progress(0x10000) }
        }
        assert(cache.used <= setting.capacity)
        result.entries = cache.entries
        result.used = cache.used
        progress(trace.requests.count & 0xFFFF)
        return result
    }
}
