//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryPressure

/// How a ``TieredCache`` behaves: lifetimes, timeouts, and what it does when the remote tier fails.
public struct TieredCacheOptions: Sendable {
    /// How long a value stays fresh if nothing else is said. Values in a remote tier always have a lifetime, because
    /// nothing else removes what no process asks for any more. Five minutes by default.
    public var lifetime: Duration

    /// How long a value is kept beyond its lifetime as a fallback. It is served only when the origin fails too, or when
    /// a soft timeout passes, and never after its key was removed or changed, as far as this process knows. A change
    /// that another process makes while there is no connection is not known here, and lookups that were under way when
    /// the connection was lost may miss later ones too. `nil` (the default) keeps none; more than 34 years count as 34.
    public var keepsExpiredFor: Duration?

    /// What a lookup does while there is no connection; ``Disconnection/miss`` by default.
    public var whileDisconnected: Disconnection

    /// How long one operation of the remote tier may take during a lookup, or the wait for a connection that is being
    /// made. After that, the fallback value or the origin answers. 100 ms by default, and 1 ms at least for an
    /// operation. A lookup that finds nothing has two operations before the origin is asked, and one behind it that
    /// stores the value.
    public var softTimeout: Duration

    /// How long the origin, or the process that holds the lease, may take before a fallback value is served instead.
    /// The load goes on. `nil` (the default) waits to the end. Matters only with ``keepsExpiredFor``.
    public var softLoadTimeout: Duration?

    /// How long a change (a value set or removed) may take, retries included, before it throws. 2 s by default.
    public var changeTimeout: Duration

    /// How long one process may take to make a value before another one may try. 10 s by default. A value that takes
    /// longer is returned to those who wait for it, and stored nowhere: choose more than the slowest load takes.
    public var leaseTime: Duration

    /// The version of the codec. It is a part of every key, so that programs whose codecs differ do not read each
    /// other's bytes. 1 by default.
    public var codecVersion: Int

    /// The largest encoded value that is sent to the remote tier, in bytes. Larger ones are returned by lookups, but
    /// are not stored; setting them throws. 8 MiB by default.
    public var largestValue: Int

    /// The clock that lifetimes of near entries are measured by.
    public var clock: any Clock<Duration>

    /// Whether the near cache gives up entries when the process runs short of memory. `true` by default.
    public var evictsUnderMemoryPressure: Bool

    /// Who reports memory pressure to the near cache.
    public var pressureMonitor: MemoryPressureMonitor

    /// The longest time that counts. Two of them, a lifetime and what is kept beyond it, are 70 years: less than the
    /// century at which tiers clamp, because a sum that was clamped could not be taken apart again.
    static var longestTime: Duration { .milliseconds(NearStamp.lastMoment) }

    /// How long values are kept beyond their lifetimes.
    var keptFor: Duration { min(max(.zero, keepsExpiredFor ?? .zero), Self.longestTime) }

    /// How long a value is fresh whose caller asked for `lifetime`, or for nothing.
    func freshFor(_ lifetime: Duration? = nil) -> Duration {
        min(max(.milliseconds(1), lifetime ?? self.lifetime), Self.longestTime)
    }

    /// What a lookup does while there is no connection to the remote tier.
    public enum Disconnection: Sendable, Hashable {
        /// It asks the origin.
        case miss
        /// It serves near values that are still fresh by their lifetime, for so long after the connection was lost.
        /// They may have changed meanwhile.
        case serveStale(upTo: Duration)
    }

    /// Options, each with its default.
    public init(
        lifetime: Duration = .seconds(300),
        keepsExpiredFor: Duration? = nil,
        whileDisconnected: Disconnection = .miss,
        softTimeout: Duration = .milliseconds(100),
        softLoadTimeout: Duration? = nil,
        changeTimeout: Duration = .seconds(2),
        leaseTime: Duration = .seconds(10),
        codecVersion: Int = 1,
        largestValue: Int = 8 << 20,
        clock: any Clock<Duration> = ContinuousClock(),
        evictsUnderMemoryPressure: Bool = true,
        pressureMonitor: MemoryPressureMonitor = .shared
    ) {
        self.lifetime = lifetime
        self.keepsExpiredFor = keepsExpiredFor
        self.whileDisconnected = whileDisconnected
        self.softTimeout = softTimeout
        self.softLoadTimeout = softLoadTimeout
        self.changeTimeout = changeTimeout
        self.leaseTime = leaseTime
        self.codecVersion = codecVersion
        self.largestValue = largestValue
        self.clock = clock
        self.evictsUnderMemoryPressure = evictsUnderMemoryPressure
        self.pressureMonitor = pressureMonitor
    }
}
