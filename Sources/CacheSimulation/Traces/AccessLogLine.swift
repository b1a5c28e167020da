//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A line of an access log as nginx and Apache write it: the common and the combined log format, and Apache's
/// `vhost_combined`. What follows the size is ignored, so formats with more fields are read too.
///
/// - SeeAlso: Apache, `mod_log_config`, "Common Log Format"; nginx, `ngx_http_log_module`.
struct AccessLogLine {
    /// The virtual host, where the line begins with one; empty otherwise.
    let host: ArraySlice<UInt8>
    /// The path with its query, as it was asked for.
    let target: ArraySlice<UInt8>
    /// Bytes of the answer's body; 0 where the line does not say how large the whole value is.
    let size: Int
    /// Whether a cache of answers would have been asked: a GET or HEAD that was answered with 2xx or 304.
    let isCacheable: Bool

    /// Reads a line; nil where it is not of the format.
    init?(_ line: ArraySlice<UInt8>) {
        // host ident user [time] "request" status bytes …
        let blank = UInt8(ascii: " "), quote = UInt8(ascii: "\"")
        guard let opening = line.firstIndex(of: UInt8(ascii: "[")),
            let closing = line[opening...].firstIndex(of: UInt8(ascii: "]")), Self.isTime(line[(opening + 1)..<closing])
        else { return nil }
        let who = line[..<opening].split(separator: blank)
        let rest = line[(closing + 1)...]
        guard who.count >= 3, rest.starts(with: [blank, quote]), let end = Self.closingQuote(rest.dropFirst(2)) else {
            return nil
        }
        let answer = rest[(end + 1)...].split(separator: blank, maxSplits: 2)
        guard answer.count >= 2, answer[0].count == 3, let status = TraceLines.number(answer[0]) else { return nil }
        var bytes: UInt64 = 0
        if !answer[1].elementsEqual([UInt8(ascii: "-")]) {
            guard let number = TraceLines.number(answer[1]), number < 1 << 48 else { return nil }
            bytes = number
        }

        // Apache's vhost_combined has a field more, which ends with a port.
        host = who.count >= 4 && Self.endsWithPort(who[0]) ? who[0] : []
        let request = rest.dropFirst(2)[..<end]
        let method = request.prefix { $0 != blank }
        var target = request[method.endIndex...].dropFirst()
        if let last = target.lastIndex(of: blank), target[last...].dropFirst().starts(with: Array("HTTP/".utf8)) {
            target = target[..<last]
        }
        self.target = target
        let isGet = method.elementsEqual("GET".utf8)
        let isRead = isGet || method.elementsEqual("HEAD".utf8)
        isCacheable = isRead && !target.isEmpty && ((200..<300).contains(status) || status == 304)
        // HEAD and 304 have no body, and 206 has a part of it.
        size = isGet && status != 304 && status != 206 ? Int(bytes) : 0
    }

    /// `10/Oct/2000:13:55:36 -0700`.
    private static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
        let isDigit = { (byte: UInt8) in byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
        let bytes = Array(text.prefix(12))
        return text.count >= 20 && isDigit(bytes[0]) && isDigit(bytes[1]) && bytes[2] == UInt8(ascii: "/")
            && bytes[6] == UInt8(ascii: "/") && bytes[11] == UInt8(ascii: ":")
    }

    /// The index of the quote that ends the text; Apache escapes quotes inside with a backslash.
    private static func closingQuote(_ text: ArraySlice<UInt8>) -> Int? {
        var isEscaped = false
        for index in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[index] == UInt8(ascii: "\\") {
                isEscaped = true
            } else if text[index] == UInt8(ascii: "\"") {
                return index
            }
        }
        return nil
    }

    private static func endsWithPort(_ field: ArraySlice<UInt8>) -> Bool {
        guard let colon = field.lastIndex(of: UInt8(ascii: ":")) else { return false }
        return TraceLines.number(field[(colon + 1)...]) != nil
    }
}
