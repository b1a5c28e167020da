//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Which columns of a CSV file with a heading, or which fields of JSON lines, hold what.
///
/// Names are compared without regard to case. A field inside an object is named with dots: `request.uri`.
public struct TraceColumns: Sendable, Equatable {
    /// The key; `nil` takes the first name of ``keyNames`` that is there.
    public var key: String?
    /// The value's size in bytes; `nil` takes the first name of ``sizeNames`` that is there, or no sizes.
    public var size: String?
    /// What the value costs to make; `nil` takes `cost`, or no costs.
    public var cost: String?
    /// When the request came, as a number or as ISO 8601; requests are sorted by it, and one without a time stays
    /// behind the one before it. `nil` keeps the file's order.
    public var time: String?

    /// Columns with the given names.
    public init(key: String? = nil, size: String? = nil, cost: String? = nil, time: String? = nil) {
        self.key = key
        self.size = size
        self.cost = cost
        self.time = time
    }

    /// Names that are taken for a key, in this order.
    public static let keyNames = [
        "key", "cache_key", "url", "uri", "request_uri", "request.uri", "path", "request_path", "requestpath", "object",
        "object_id", "obj_id", "id",
    ]
    /// Names that are taken for a size in bytes, in this order.
    public static let sizeNames = [
        "size", "bytes", "body_bytes_sent", "bytes_sent", "content_length", "downstreamcontentsize", "object_size",
        "obj_size", "value_size", "length",
    ]

    /// Whether any is named.
    var isGiven: Bool { self != TraceColumns() }
}

/// The places of the columns, found once a heading has been read.
struct ColumnPlaces {
    let names: [String]
    let key: Int
    let size: Int?
    let cost: Int?
    let time: Int?

    /// Finds `columns` among `names`.
    init(_ columns: TraceColumns, among names: [String]) throws(TraceError.Reason.Failure) {
        let known = names.map { $0.lowercased() }
        func place(_ name: String?, else usual: [String]) throws(TraceError.Reason.Failure) -> Int? {
            guard let name else {
                for usual in usual { if let index = known.firstIndex(of: usual) { return index } }
                return nil
            }
            guard let index = known.firstIndex(of: name.lowercased()) else {
                throw .init(.missingColumn(name, among: names))
            }
            return index
        }
        guard let key = try place(columns.key, else: TraceColumns.keyNames) else {
            throw .init(.missingColumn("key", among: names))
        }
        self.names = names
        self.key = key
        size = try place(columns.size, else: TraceColumns.sizeNames)
        cost = try place(columns.cost, else: ["cost"])
        time = try place(columns.time, else: [])
    }

    /// Whether the names look like a heading of which something can be made.
    static func isHeading(_ names: [String]) -> Bool {
        names.contains { TraceColumns.keyNames.contains($0.lowercased()) }
            && names.allSatisfy { Double($0) == nil && !$0.isEmpty }
    }
}
