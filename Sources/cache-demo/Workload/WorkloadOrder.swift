//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Which cache a run goes through.
enum Contender: String, Codable, CaseIterable, Sendable {
    case dictionary
    case foundationCache
    case memoryCache
    case purgeableCache
    case appleClasses

    /// How it is named to the reader.
    var title: String {
        switch self {
        case .dictionary: "Dictionary"
        case .foundationCache: "Foundation.NSCache"
        case .memoryCache: "MemoryCache"
        case .purgeableCache: "PurgeableCache"
        case .appleClasses: "NSCache, NSPurgeableData"
        }
    }

    /// Whether it is ours, which must survive, or a control.
    var isOurs: Bool { self != .dictionary && self != .foundationCache }
}

/// All that a run needs to know; the requests themselves follow on its standard input.
struct WorkloadOrder: Codable, Sendable {
    var contender: Contender
    var group: ControlGroup?
    /// True where nothing limits us: the parent then says when memory is short.
    var pressureByHand: Bool
    var port: UInt16
    var seed: UInt64
    /// Concurrent requests, and connections.
    var workers: Int
    var seconds: Double
    /// Requests to make; nil for as many as fit in `seconds`.
    var requests: Int?
    /// How many requests follow on standard input.
    var streamLength: Int
}
