//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// Whether this thread is telling the user's code of departures, or asking the governor for credit, which may.
///
/// What that code inserts is part of the call that runs it. It sweeps nothing and settles no credit: both would run the
/// same code again, inside itself.
@usableFromInline
enum UserCode {
    /// How often a search is repeated because other keys of the same hash have appeared while keys were compared. A
    /// thread that sets and removes such keys all the time makes that happen while a slow `==` runs, and an `==` that
    /// itself stores keys of the same hash would do it for ever.
    ///
    /// Keys are compared outside a lock in four places, because each knows a candidate again by something else:
    /// - `CacheEngine.valueComparing`: the value comes out with the key, so that a hit locks once. For one candidate.
    /// - `CacheEngine.locateComparingOutside`: by the entry's generation. For any number of them.
    /// - `KeyValueMatching`, asked by `PurgeableStore.withEntry`: by slot and location, since the entries of a
    ///   purgeable cache have no generations.
    /// - `FlightTable`: by the stamp of the whole bucket, which is copied out; it is searched until nothing has changed
    ///   meanwhile, and counts no rounds.
    @usableFromInline static var comparisonRounds: Int { 1024 }

    @usableFromInline
    @inline(never)
    static var isRunning: Bool { cms_user_code_depth().pointee > 0 }

    @usableFromInline
    @inline(never)
    static func begin() { cms_user_code_depth().pointee += 1 }

    @usableFromInline
    @inline(never)
    static func end() { cms_user_code_depth().pointee -= 1 }

    static func run<R>(_ body: () -> R) -> R {
        begin()
        defer { end() }
        return body()
    }
}
