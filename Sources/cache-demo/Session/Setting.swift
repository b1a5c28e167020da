//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// Everything that a reader must know to judge the figures, and to run the same again.
struct Setting: Codable, Sendable {
    var limitBytes: Int
    var neighbourBytes: Int
    var seconds: Double
    var requests: Int?
    var latencyMilliseconds: Double
    var seed: UInt64
    var port: UInt16
    var connections: Int
    /// Where the requests come from, in words.
    var stream: String
    /// Different thumbnails in the stream, and their bytes together.
    var distinctThumbnails: Int
    var distinctBytes: Int
    /// "cgroup v1", "cgroup v2" or nil where none could be made.
    var controlGroup: String?
    /// What holds memory down, in words.
    var confinement: String

    init(_ options: DemoOptions, port: UInt16, confinement: Confinement, distinct: (count: Int, bytes: Int)) {
        limitBytes = options.limit.bytes
        neighbourBytes = options.neighbour.bytes
        seconds = options.seconds
        requests = options.requests
        latencyMilliseconds = options.latency
        seed = options.seed
        self.port = port
        connections = options.connections
        if let trace = options.trace {
            stream = "trace \(URL(fileURLWithPath: trace).lastPathComponent)"
        } else {
            stream = "Zipf \(String(format: "%.2f", options.zipf)) over \(options.catalogue.grouped) thumbnails"
        }
        distinctThumbnails = distinct.count
        distinctBytes = distinct.bytes
        switch confinement {
        case .groups(let place, _):
            controlGroup = "cgroup \(place.version.rawValue)"
            self.confinement =
                "each run in a cgroup (\(place.version.rawValue)) of its own, \(options.limit), no swap"
        case .none(let reason):
            controlGroup = nil
            self.confinement =
                "no cgroup (\(reason)): runs under whatever limit is in force, pressure signalled by hand"
        }
    }

    /// The lines that a run begins with.
    var introduction: [String] {
        [
            "origin     http://127.0.0.1:\(port), thumbnails of 2 to 200 KB, latency \(latencyMilliseconds.short) ms",
            "requests   \(stream), seed \(seed), \(connections) at a time",
            "           \(distinctThumbnails.grouped) different ones, \(ByteCount(distinctBytes)) together",
            "memory     \(confinement)",
            "neighbour  takes \(ByteCount(neighbourBytes)) beside each run, from "
                + "\((Run.neighbourStay.lowerBound * 100).short) % of it to \((Run.neighbourStay.upperBound * 100).short) %",
        ]
    }
}

extension Int {
    /// With commas between groups of three digits.
    var grouped: String {
        var digits = String(magnitude)
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
            place -= 3
        }
        return (self < 0 ? "-" : "") + digits
    }
}

extension Double {
    /// As few digits as say it: 2, 0.5, 12.3.
    var short: String {
        self == rounded() && magnitude < 1e15 ? String(Int(self)) : String(format: "%.1f", self)
    }

    /// As a percentage with one digit after the point.
    var percent: String { String(format: "%.1f %%", self * 100) }
}
