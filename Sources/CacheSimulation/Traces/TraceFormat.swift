//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How a trace is written down.
///
/// Each of them may be compressed with gzip or Zstandard; that is seen from the first bytes, not from the name.
public enum TraceFormat: String, Sendable, CaseIterable {
    /// Whatever the first bytes look like.
    ///
    /// Text is ``accessLog`` or ``jsonLines`` if its lines are such, ``arc`` if they are four numbers, ``lirs`` if they
    /// are one, and ``csv`` otherwise; text with blanks and no commas is refused, because it is more likely prose than
    /// a list of keys. Anything else is ``oracleGeneral`` if its 24-byte records make sense as such, and ``binary`` if
    /// its sizes do.
    case automatic
    /// Records of 12 bytes, little-endian: an unsigned 64-bit key and an unsigned 32-bit size in bytes.
    case binary
    /// Lines of `first-block number-of-blocks ignored request-number`; each block is a request of its own, of size 1.
    ///
    /// - SeeAlso: Megiddo, Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST '03).
    case arc
    /// One block number a line; lines of `*` mark phases and are skipped.
    ///
    /// - SeeAlso: Jiang, Zhang, "LIRS" (SIGMETRICS 2002).
    case lirs
    /// Lines of `key[,size[,cost]]`, or a heading and lines with those columns (see ``TraceColumns``).
    ///
    /// A key is a decimal number or any text, quoted (`"a,b"`) if it has commas; text is hashed to 64 bits. Empty lines
    /// and lines that begin with `#` are skipped. Below a heading, columns may also be separated by `;` or tabs.
    case csv
    /// The access log of nginx or Apache, in the common or the combined format.
    ///
    /// The key is the path with its query, after the virtual host if the log has one. Requests that a cache would not
    /// be asked for are skipped: what is not GET or HEAD, or was not answered with 2xx or 304.
    case accessLog = "log"
    /// A JSON object a line; ``TraceColumns`` says which fields are taken.
    case jsonLines = "jsonl"
    /// libCacheSim's records of 24 bytes, little-endian: 32-bit time, 64-bit key, 32-bit size, 64-bit next access.
    ///
    /// - SeeAlso: Yang et al., libCacheSim, "oracleGeneral".
    case oracleGeneral
}
