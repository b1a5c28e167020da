//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// Page runs out of a few large mappings: the heart of the page layer.
///
/// The kernel limits mappings (65,530), charges microseconds for each and splits them whenever flags differ. So an
/// arena maps regions of up to 64 MiB with one set of flags and deals out runs of whole units: a million values of
/// one page are 64 mappings.
///
/// Invariants:
/// - A run that is handed out is zero and nobody else's. ``deallocate(_:)`` discards before the run may be handed
///   out again, which also makes every processor forget the old pages (`MADV_DONTNEED` flushes deferred
///   translations), so that no reader can see an earlier tenant.
/// - Every failure is an answer: no memory is `nil`, a refused seal is `false` and leaves ordinary memory behind.
/// - Nothing of the user's runs in here; the lock guards numbers alone, system calls on pages run outside of it.
package final class PageArena: Sendable {
    /// The grain of an arena.
    package enum Pages: Sendable {
        /// Base pages; transparent huge pages are kept out, since one would be shared by neighbours.
        case base
        /// 2 MiB units, aligned, huge pages welcome: pinning and refilling cost a tenth per byte.
        case huge

        /// Bytes in a unit.
        var unit: Int { self == .base ? PageSize.base : PageSize.huge }
    }

    /// The grain.
    let pages: Pages

    /// Whether a child of fork(2) finds zeros in place of the content.
    let wipesOnFork: Bool

    /// The system calls in use.
    package let system: PageSystem

    private struct State: ~Copyable {
        var free = FreeRuns()
        var regions: [PageRegion?] = []
        var emptyRegions = 0
        var nextRegionByteCount: Int
    }

    private let state: ForkSafeMutex<State>
    /// The process that the pages belong to.
    private let generation = ForkGeneration.current

    /// 64 MiB: with it a tebibyte of values is 16,384 mappings, a quarter of the kernel's default limit.
    private static let largestRegion = 64 << 20
    /// A small process should not reserve 64 MiB of address space for its first value; regions double from here.
    private static let smallestRegion = 4 << 20
    /// A run of a quarter of a region or more gets a mapping of its own, which goes when it goes.
    private static let largestSharedRun = largestRegion / 4
    /// The same where the process may map only so much: there a region counts as a whole until all of it is free, and
    /// caches that evicted values of 100 kB to make room were emptied.
    private static let largestSharedRunWhereLimited = 64 << 10
    /// Mappings of the process up to which runs as small as that get their own, and up to which regions stay small: a
    /// quarter and a half of the kernel's default limit. Below a limit of 64 GiB values of 65 KiB with holes between
    /// them used it up, and the next allocation ended the process.
    private static let mostSmallRuns = 16_384
    private static let mostSmallRegions = 32_768

    /// An arena without any mapping yet.
    package init(pages: Pages, wipesOnFork: Bool = true, system: PageSystem = .live) {
        self.pages = pages
        self.wipesOnFork = wipesOnFork
        self.system = system
        state = ForkSafeMutex(State(nextRegionByteCount: Self.smallestRegion))
    }

    deinit {
        let system = system
        state.withLock { state in
            for region in state.regions { region?.unmap(system) }
        }
    }

    /// Whole units for at least `byteCount` bytes, all zero; nil where the system has no memory or address space.
    /// O(1), and a system call where a region is needed.
    package func allocate(byteCount: Int) -> PageRun? {
        precondition(byteCount > 0)
        let count = (byteCount - 1) / pages.unit + 1
        let byteCount = count * pages.unit
        if byteCount >= Self.largestSharedRun { return allocateAlone(byteCount: byteCount) }
        if byteCount >= Self.largestSharedRunWhereLimited, makesSmallMappings(upTo: Self.mostSmallRuns) {
            // Where no mapping is to be had, a region may have room.
            return allocateAlone(byteCount: byteCount) ?? state.withLock { take(count, &$0) }
        }
        return state.withLock { state in
            if let run = take(count, &state) { return run }
            guard grow(&state, atLeast: count) else { return nil }
            return take(count, &state)
        }
    }

    /// Takes a run back: its content is discarded, its memory returned.
    package func deallocate(_ run: PageRun) {
        // In a child of fork they are wiped, and whoever kept the books of them at the fork may have got no further.
        guard !wipesOnFork || generation == ForkGeneration.current else { return }
        guard run.firstUnit != PageRun.alone else {
            return PageRegion(base: run.base, byteCount: run.byteCount).unmap(system)
        }
        discard(run.base, byteCount: run.byteCount)
        let emptied: PageRegion? = state.withLock { state in
            state.free.give(run.firstUnit, count: run.byteCount / pages.unit)
            let slot = FreeRuns.slot(of: run.firstUnit)
            let region = state.regions[slot]!
            guard state.free.freeUnits(ofSlot: slot) == region.byteCount / pages.unit else { return nil }
            // One empty region stays, so that a value that comes and goes does not map and unmap each time.
            guard state.emptyRegions > 0 else {
                state.emptyRegions += 1
                return nil
            }
            state.free.removeSlot(slot)
            state.regions[slot] = nil
            return region
        }
        emptied?.unmap(system)
    }

    /// Permits the kernel to take the pages back (`MADV_FREE`). False where it refuses (locked memory, an old kernel,
    /// a filter): then the pages are ordinary memory. About 0.5 µs and 50 ns a page.
    package func seal(_ base: UnsafeMutableRawPointer, byteCount: Int) -> Bool {
        system.advise(base, byteCount, .free) == 0
    }

    /// Frees the pages at once; they read as zero afterwards. False where the kernel refuses (locked memory): then
    /// they are overwritten with zeros and stay in memory.
    @discardableResult
    package func discard(_ base: UnsafeMutableRawPointer, byteCount: Int) -> Bool {
        if system.advise(base, byteCount, .discard) == 0 { return true }
        base.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        return false
    }

    /// Calls `body` with one byte a page of `base..<base + byteCount`, bit 0 telling whether the page is in memory,
    /// or with nil where the kernel does not say. Touches no page: about 1 ns a page.
    func withResidency<R>(
        _ base: UnsafeMutableRawPointer,
        byteCount: Int,
        _ body: (UnsafeBufferPointer<UInt8>?) -> R
    ) -> R {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount / PageSize.base) { answer in
            let error = system.residency(base, byteCount, answer.baseAddress!)
            return body(error == 0 ? UnsafeBufferPointer(answer) : nil)
        }
    }

    /// Regions that are mapped now, for tests and diagnostics; runs with a mapping of their own are not counted.
    var regionCount: Int { state.withLock { $0.regions.count { $0 != nil } } }

    // MARK: Regions

    private func take(_ count: Int, _ state: inout State) -> PageRun? {
        guard let first = state.free.take(count) else { return nil }
        let slot = FreeRuns.slot(of: first)
        let region = state.regions[slot]!
        let base = region.base + FreeRuns.offset(of: first) * pages.unit
        // What is free now and what was taken make up the region: it was empty.
        if state.free.freeUnits(ofSlot: slot) + count == region.byteCount / pages.unit { state.emptyRegions -= 1 }
        return PageRun(base: base, byteCount: count * pages.unit, firstUnit: first)
    }

    private func grow(_ state: inout State, atLeast count: Int) -> Bool {
        let needed = count * pages.unit
        let largest = makesSmallMappings(upTo: Self.mostSmallRegions) ? Self.smallestRegion : Self.largestRegion
        var size = max(min(state.nextRegionByteCount, largest), needed)
        // Under RLIMIT_AS a smaller region may still fit where a large one does not.
        var region = PageRegion(byteCount: size, pages: pages, wipesOnFork: wipesOnFork, system: system)
        while region == nil, size > needed {
            size = max(size / 4 / pages.unit * pages.unit, needed)
            region = PageRegion(byteCount: size, pages: pages, wipesOnFork: wipesOnFork, system: system)
        }
        guard let region else { return false }
        let slot = state.free.addSlot(unitCount: size / pages.unit)
        if slot == state.regions.count { state.regions.append(nil) }
        state.regions[slot] = region
        state.emptyRegions += 1
        state.nextRegionByteCount = min(state.nextRegionByteCount * 2, Self.largestRegion)
        return true
    }

    /// Whether what is no longer wanted should be unmapped soon, and there are mappings to spend on that.
    private func makesSmallMappings(upTo most: Int) -> Bool { system.limitsMapping() && PageRegion.count < most }

    private func allocateAlone(byteCount: Int) -> PageRun? {
        PageRegion(byteCount: byteCount, pages: pages, wipesOnFork: wipesOnFork, system: system).map {
            PageRun(base: $0.base, byteCount: byteCount, firstUnit: PageRun.alone)
        }
    }
}
