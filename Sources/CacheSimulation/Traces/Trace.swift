//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A sequence of requests in memory: a log of what a cache was asked for.
///
/// Eight bytes a request where the source has neither sizes nor costs, twenty-four at most.
public struct Trace: Sendable, RandomAccessCollection {
    /// What to call it: the file's name without folders and extensions.
    public var name: String
    private var keys: [UInt64] = []
    /// Empty as long as every size is 1; 0 where one is not known.
    private var sizes: [Int] = []
    /// Empty as long as no request has a cost; NaN where one has none.
    private var costs: [Double] = []

    /// Reads a whole trace file.
    ///
    /// - Parameters:
    ///   - path: The file, plain or compressed with gzip or Zstandard.
    ///   - format: How it is written; by default that is seen from its first bytes.
    ///   - columns: Which columns of a CSV file, or which fields of JSON lines, hold what.
    ///   - progress: Told now and then how many requests are read.
    /// - Throws: ``TraceError`` with file and position, also for a file without requests.
    /// - Complexity: O(*n*) in its requests.
    public init(
        contentsOf path: String,
        format: TraceFormat = .automatic,
        columns: TraceColumns = TraceColumns(),
        progress: (_ requests: Int) -> Void = { _ in }
    ) throws(TraceError) {
        let reader = try TraceReader(path: path, format: format, columns: columns)
        var times: [Double] = []
        let file = path.split(separator: "/").last.map(String.init) ?? path
        name = file.split(separator: ".").first.map(String.init) ?? file
        while let request = try reader.next() {
            append(request)
            // One that says no time came when the one before it did; the first ones with the first that says it.
            if times.isEmpty, let time = request.time { times = .init(repeating: time, count: keys.count - 1) }
            if let time = request.time ?? times.last { times.append(time) }
            if keys.count & 0xF_FFFF == 0 { progress(keys.count) }
        }
        if keys.isEmpty { throw TraceError(path: path, format: reader.format, position: nil, reason: .empty) }
        sort(by: times)
        interpretation = reader.interpretation
    }

    /// A trace of the given requests.
    public init(name: String, _ requests: some Sequence<TraceRequest>) {
        self.name = name
        for request in requests { append(request) }
    }

    /// What the file's lines were taken to mean; `nil` for a trace that was not read from a file.
    public private(set) var interpretation: TraceInterpretation?
    /// Whether some request's size is more than 1, so that sizes are in bytes and limits too.
    public private(set) var isSized = false
    /// Whether some request says what its value costs to make.
    public var hasCosts: Bool { !costs.isEmpty }

    /// The position of the first request: 0.
    public var startIndex: Int { 0 }
    /// The number of requests.
    public var endIndex: Int { keys.count }

    /// The request at `position`.
    public subscript(position: Int) -> TraceRequest {
        let cost = costs.isEmpty || costs[position].isNaN ? nil : costs[position]
        return TraceRequest(key: keys[position], size: sizes.isEmpty ? 1 : sizes[position], cost: cost)
    }

    /// How many different keys are asked for. Complexity: O(*n*).
    public var keyCount: Int { Set(keys).count }

    /// Puts requests into the order of their times; those of one time stay in theirs.
    private mutating func sort(by times: [Double]) {
        guard zip(times, times.dropFirst()).contains(where: { $0 > $1 }) else { return }
        let order = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
        keys = order.map { keys[$0] }
        if !sizes.isEmpty { sizes = order.map { sizes[$0] } }
        if !costs.isEmpty { costs = order.map { costs[$0] } }
    }

    private mutating func append(_ request: TraceRequest) {
        if sizes.isEmpty, request.size != 1 { sizes = .init(repeating: 1, count: keys.count) }
        if costs.isEmpty, request.cost != nil { costs = .init(repeating: .nan, count: keys.count) }
        if !sizes.isEmpty || request.size != 1 { sizes.append(request.size) }
        if !costs.isEmpty || request.cost != nil { costs.append(request.cost ?? .nan) }
        if request.size > 1 { isSized = true }
        keys.append(request.key)
    }
}
