//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Glibc

/// The requests of a run, in order: the same bytes go to every run, so that all serve the same stream.
struct RequestStream: Sendable, Equatable {
    var thumbnails: [Thumbnail]

    /// Bytes of one request on the wire: number and size, little-endian, as in a trace record.
    static let recordSize = 12

    /// `count` requests for the pictures of a catalogue, the n-th most popular with weight 1/nˢ for an exponent s.
    static func zipf(count: Int, catalogue: Int, exponent: Double, seed: UInt64) -> RequestStream {
        let requests = TraceGenerator(.zipf(exponent: exponent), keys: catalogue, seed: seed).prefix(count)
        return RequestStream(thumbnails: requests.map { Thumbnail(number: $0.key, seed: seed) })
    }

    /// Real requests: the first `count` of a trace, each key with the size that it has there first, brought to what
    /// the origin serves; where the trace has no sizes, with that of the catalogue.
    ///
    /// The trace is read to its end, so that one that is cut off is refused here and not by luck.
    ///
    /// - Throws: `BadInput` where it cannot be read.
    static func trace(_ path: String, count: Int, seed: UInt64) throws -> RequestStream {
        let trace: Trace
        do { trace = try Trace(contentsOf: path) } catch {
            throw BadInput(description: "\(error)", exitCode: BadInput.noInput)
        }
        var sizes: [UInt64: Int] = [:]
        return RequestStream(
            thumbnails: trace.prefix(count).map { request in
                guard trace.isSized else { return Thumbnail(number: request.key, seed: seed) }
                let size = sizes[request.key, default: request.size]
                sizes[request.key] = size
                return Thumbnail(number: request.key, byteCount: size)
            }
        )
    }

    /// How many different pictures it asks for, and how many bytes these have together.
    var distinct: (count: Int, bytes: Int) {
        let all = Set(thumbnails)
        return (all.count, all.reduce(0) { $0 + $1.byteCount })
    }

    /// As it goes to a child.
    var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(thumbnails.count * Self.recordSize)
        for thumbnail in thumbnails {
            withUnsafeBytes(of: thumbnail.number.littleEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: UInt32(thumbnail.byteCount).littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// What came over the wire.
    init(wire: UnsafeRawBufferPointer) {
        thumbnails = stride(from: 0, to: wire.count - Self.recordSize + 1, by: Self.recordSize).map { offset in
            let number = wire.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let size = wire.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)
            return Thumbnail(number: UInt64(littleEndian: number), byteCount: Int(UInt32(littleEndian: size)))
        }
    }

    /// Reads `count` requests from a file descriptor; fewer where it ends before.
    init(readingFrom file: CInt, count: Int) {
        var wire = [UInt8](repeating: 0, count: count * Self.recordSize)
        var filled = 0
        wire.withUnsafeMutableBytes { buffer in
            while filled < buffer.count {
                let got = read(file, buffer.baseAddress! + filled, buffer.count - filled)
                if got < 0 && errno == EINTR { continue }
                guard got > 0 else { return }
                filled += got
            }
        }
        self = wire.withUnsafeBytes { RequestStream(wire: UnsafeRawBufferPointer(rebasing: $0[..<filled])) }
    }

    init(thumbnails: [Thumbnail]) { self.thumbnails = thumbnails }
}
