//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a server does for its tiers, as a pure value: values, leases, and who is told of a change. The scripts of the
/// tier in front of Valkey and Redis do the same.
///
/// A lease stands in the place of the value, so that whatever changes the key ends the lease, also a program that knows
/// nothing of leases. The value that it displaced is kept beside it until its lifetime is over.
package struct TierStore: Hashable {
    /// Names a tier that asks.
    package typealias Client = Int

    private struct Record: Hashable {
        var bytes: [UInt8]?
        var expires: Int64
        var lease: Lease?
    }

    private struct Lease: Hashable {
        let token: LeaseToken
        let ends: Int64
    }

    private var records: [KeyName: Record] = [:]
    private var trackers: [KeyName: Set<Client>] = [:]
    /// Milliseconds.
    private var now: Int64 = 0

    /// A report for a tier: `key` has changed.
    package struct Report: Hashable {
        package let client: Client
        package let key: String
    }

    package init() {}

    /// Lets time pass, and values and leases expire.
    package mutating func advance(to moment: Int64) -> [Report] {
        now = max(now, moment)
        var reports: [Report] = []
        for (key, record) in records {
            let isLeased = record.lease.map { $0.ends > now } ?? false
            if isLeased || record.lease == nil && record.expires > now { continue }
            records[key]?.lease = nil
            if record.expires <= now || record.bytes == nil { records[key] = nil }
            reports += changed(key.text, by: nil)
        }
        return reports
    }

    package mutating func read(_ key: String, by client: Client) -> RemoteValue? {
        trackers[KeyName(key), default: []].insert(client)
        guard let record = records[KeyName(key)], record.lease == nil, let bytes = record.bytes else { return nil }
        return RemoteValue(bytes: bytes, remaining: .milliseconds(record.expires - now))
    }

    package mutating func acquire(
        _ key: String,
        _ terms: LeaseTerms,
        by client: Client
    ) -> (answer: LeaseAnswer, reports: [Report]) {
        trackers[KeyName(key), default: []].insert(client)
        var record = records[KeyName(key)] ?? Record(bytes: nil, expires: now)
        let remaining = Duration.milliseconds(record.expires - now)
        let value = record.expires > now && record.bytes != terms.unusable ? record.bytes : nil
        if let lease = record.lease {
            return (.held(remaining: .milliseconds(lease.ends - now), stale: value), [])
        }
        if let value, remaining > terms.staleBelow {
            return (.found(RemoteValue(bytes: value, remaining: remaining)), [])
        }
        record.bytes = value
        record.lease = Lease(token: terms.token, ends: now + terms.duration.milliseconds)
        records[KeyName(key)] = record
        let reports = changed(key, by: client)
        trackers[KeyName(key), default: []].insert(client)
        return (.granted(stale: value), reports)
    }

    package mutating func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        by client: Client
    ) -> (isStored: Bool, reports: [Report]) {
        guard records[KeyName(key)]?.lease?.token == lease else { return (false, []) }
        let reports = write(key, bytes, lifetime: lifetime, by: client)
        trackers[KeyName(key), default: []].insert(client)
        return (true, reports)
    }

    package mutating func release(_ key: String, lease: LeaseToken, by client: Client) -> [Report] {
        guard var record = records[KeyName(key)], record.lease?.token == lease else { return [] }
        record.lease = nil
        records[KeyName(key)] = record.bytes != nil && record.expires > now ? record : nil
        return changed(key, by: client)
    }

    /// Several caches may share a tier, so the one that writes is told, too: nil as `client`. A model of near caches,
    /// which must not depend on that, says who it is.
    package mutating func write(
        _ key: String,
        _ bytes: [UInt8],
        lifetime: Duration,
        by client: Client?
    ) -> [Report] {
        records[KeyName(key)] = Record(bytes: bytes, expires: now + lifetime.milliseconds)
        return changed(key, by: client)
    }

    /// As ``write(_:_:lifetime:by:)``.
    package mutating func remove(_ key: String, by client: Client?) -> [Report] {
        records[KeyName(key)] = nil
        return changed(key, by: client)
    }

    /// Removes everything and forgets who reads what, as a restart does.
    package mutating func removeAll() {
        records = [:]
        trackers = [:]
    }

    /// The tier is not connected any more.
    package mutating func forget(_ client: Client) {
        for name in trackers.keys { trackers[name]?.remove(client) }
    }

    /// The bytes under `key`, and whether a lease stands there.
    package func record(_ key: String) -> (bytes: [UInt8]?, isLeased: Bool)? {
        records[KeyName(key)].map { ($0.bytes, $0.lease != nil) }
    }

    /// Whoever reads the key is told and is tracked no more, but for `client`.
    private mutating func changed(_ key: String, by client: Client?) -> [Report] {
        let told = trackers.removeValue(forKey: KeyName(key)) ?? []
        return told.subtracting(client.map { [$0] } ?? []).sorted().map { Report(client: $0, key: key) }
    }
}
