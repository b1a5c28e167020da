//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import CacheSimulation

/// What may stand behind an option.
enum Words {
    static let policies = SimulatedPolicy.allCases.map(\.rawValue).joined(separator: ", ")
    static let formats = TraceFormat.allCases.map(\.rawValue).joined(separator: ", ")

    /// What is said of a trace whose keys hardly ever come back.
    static func differingKeys(_ path: String, requests: Int, keys: Int) -> String {
        "\(path): \(requests) requests ask for \(keys) different keys, so nearly every request misses in any cache and "
            + "there is nothing to draw; if the key is not what you meant, name its column (--key-column) or the format"
    }

    static func size(_ text: String) throws -> CacheSize {
        guard let size = CacheSize(text) else {
            throw ValidationError("“\(text)” is no size: write 1%, 64MB, 64MiB or a count above 0.")
        }
        return size
    }

    /// Nil is all of them.
    static func policy(_ text: String) throws -> SimulatedPolicy? {
        if text.lowercased() == "all" { return nil }
        // "s3fifo" is as good as "S3-FIFO".
        func plain(_ name: String) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }
        guard let policy = SimulatedPolicy.allCases.first(where: { plain($0.rawValue) == plain(text) }) else {
            throw ValidationError("“\(text)” is no policy: write all or one of \(policies).")
        }
        return policy
    }

    static func cost(_ text: String) throws -> CostModel {
        guard let model = CostModel.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() }) else {
            throw ValidationError("“\(text)” is no cost model: write none, A, B or trace.")
        }
        return model
    }

    static func metric(_ text: String) throws -> SimulationReport.Metric {
        guard let metric = SimulationReport.Metric(rawValue: text.lowercased()) else {
            throw ValidationError("“\(text)” is no metric: write misses, hits, bytes or cost.")
        }
        return metric
    }

    static func format(_ text: String) throws -> TraceFormat {
        guard let format = TraceFormat.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() }) else {
            throw ValidationError("“\(text)” is no format: write one of \(formats).")
        }
        return format
    }
}
