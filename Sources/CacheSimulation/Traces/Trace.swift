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
    /// Empty as long as every size is 1.
    private var sizes: [Int] = []
    /// Empty as long as no request has a cost; NaN where one has none.
    private var costs: [Double] = []

    /// Reads a whole trace file.
    ///
    /// - Parameters:
    ///   - path: The file, plain or compressed with gzip or Zstandard.
    ///   - format: How it is written; by default that is seen from its first bytes.
    ///   - progress: Told now and then how many requests are read.
    /// - Throws: ``TraceError`` with file and position, also for a file without requests.
    /// - Complexity: O(*n*) in its requests.
    public init(
        contentsOf path: String,
        format: TraceFormat = .automatic,
        progress: (_ requests: Int) -> Void = { _ in }
    ) throws(TraceError) {
        let reader = try TraceReader(path: path, format: format)
        let file = path.split(separator: "/").last.map(String.init) ?? path
        name = file.split(separator: ".").first.map(String.init) ?? file
        while let request = try reader.next() {
            append(request)
            if keys.count & 0xF_FFFF == 0 { progress(keys.count) }
        }
        if keys.isEmpty { throw TraceError(path: path, format: reader.format, position: nil, reason: .empty) }
    }

    /// A trace of the given requests.
    public init(name: String, _ requests: some Sequence<TraceRequest>) {
        self.name = name
        for request in requests { append(request) }
    }

    /// Whether some request's size is another than 1, so that sizes are in bytes and limits too.
    public var isSized: Bool { !sizes.isEmpty }
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

    private mutating func append(_ request: TraceRequest) {
        if sizes.isEmpty, request.size != 1 { sizes = .init(repeating: 1, count: keys.count) }
        if costs.isEmpty, request.cost != nil { costs = .init(repeating: .nan, count: keys.count) }
        if !sizes.isEmpty || request.size != 1 { sizes.append(request.size) }
        if !costs.isEmpty || request.cost != nil { costs.append(request.cost ?? .nan) }
        keys.append(request.key)
    }
}
