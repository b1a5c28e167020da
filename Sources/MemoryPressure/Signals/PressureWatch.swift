//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What systemd tells a service to watch, in two environment variables.
///
/// `MEMORY_PRESSURE_WATCH` is the path of a PSI file, a FIFO or a socket; `/dev/null` turns watching off.
/// `MEMORY_PRESSURE_WRITE` is what to write there after opening, in Base64 (RFC 4648), its terminating NUL included.
///
/// - SeeAlso: <https://systemd.io/MEMORY_PRESSURE/>
package struct PressureWatch: Sendable, Equatable {
    package enum Instruction: Sendable, Equatable {
        /// Nothing is said: choose for yourself.
        case unspecified
        /// Do not watch at all.
        case off
        /// Watch this.
        case watch(PressureWatch)
    }

    package var path: String
    package var greeting: [UInt8]

    package init(path: String, greeting: [UInt8]) {
        self.path = path
        self.greeting = greeting
    }

    package static func instruction(_ environment: (String) -> String?) -> Instruction {
        guard let path = environment("MEMORY_PRESSURE_WATCH"), path.hasPrefix("/") else { return .unspecified }
        if path == "/dev/null" { return .off }
        guard let encoded = environment("MEMORY_PRESSURE_WRITE"), !encoded.isEmpty else {
            return .watch(PressureWatch(path: path, greeting: []))
        }
        // What cannot be decoded was not meant for us: a trigger half understood would wait for ever.
        guard let greeting = [UInt8](base64: encoded) else { return .unspecified }
        return .watch(PressureWatch(path: path, greeting: greeting))
    }
}

extension [UInt8] {
    /// Decodes Base64, padded; nil for anything else.
    init?(base64 text: String) {
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        self = []
        for byte in text.utf8 {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - 97 + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - 48 + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="):
                value = 0
                padding += 1
            default: return nil
            }
            if padding > 0, byte != UInt8(ascii: "=") { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                append(UInt8(truncatingIfNeeded: bits >> 16))
                append(UInt8(truncatingIfNeeded: bits >> 8))
                append(UInt8(truncatingIfNeeded: bits))
                bits = 0
            }
        }
        guard count % 4 == 0, padding <= 2 else { return nil }
        removeLast(padding)
    }
}
