//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import TieredCaching

// What `TierStore` does, in the server.
//
// A lease is a marker in the place of the value, so that a plain `SET` or `DEL` of any program ends it. It holds, in
// this order: 8 bytes of magic, 32 hexadecimal digits of the token, 16 digits for the end of the lease and 16 for the
// end of the displaced value (milliseconds of the server's clock, 0 for no value), and that value. Bytes that only
// begin with the magic are no marker but a value like any other, so no script has to work with numbers that are none.
//
// Scripts begin and end in `GET`: the first makes sure that the key is tracked, so that the script's own write is
// reported right behind the reply, where the tier knows it for its own; the last tracks the key again, which a report
// ends.
//
// `NOLOOP` would leave out the own report, but it leaves out too much: servers drop keys from the tracking table, or
// evict values, in the course of a command of whichever client, and with `NOLOOP` that client is not told. It would
// keep values whose changes are no longer reported. (Seen with redis 7.0.15 and valkey 9.1.2 and a table of three
// keys: 131 stale reads of 200.)
enum LeaseScripts {
    /// What a marker begins with.
    static let magic: [UInt8] = Array("\u{0}lease\u{0}\u{1}".utf8)

    /// Whether a lease stands where these bytes are stored: what the scripts ask too.
    static func isMarker(_ bytes: [UInt8]) -> Bool {
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        guard bytes.count >= 72, bytes.starts(with: magic) else { return false }
        return bytes[8..<40].allSatisfy { isDigit($0) || (0x61...0x66).contains($0 | 0x20) }
            && bytes[40..<72].allSatisfy(isDigit)
    }

    private static let preamble = """
        local key, magic = KEYS[1], '\\0lease\\0\\1'
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local stored = redis.pcall('GET', key)
        if type(stored) == 'table' then stored = false end
        local isMarker = stored and string.sub(stored, 1, 8) == magic
            and string.find(string.sub(stored, 9, 72), '^' .. string.rep('%x', 32) .. string.rep('%d', 32))

        """

    /// Token, milliseconds of the lease, milliseconds below which a value is stale, `1` and bytes that are no value (or
    /// `0`), the most bytes that a value may have.
    ///
    /// A lease that ends later than one that began now would is none: the server's clock was set back, or the marker is
    /// not ours. Nobody would end it, and all would wait.
    static let acquire =
        preamble + """
            local stale, staleEnds = '', 0
            if isMarker then
                local ends = tonumber(string.sub(stored, 41, 56))
                staleEnds = tonumber(string.sub(stored, 57, 72))
                if staleEnds > now then stale = string.sub(stored, 73) else staleEnds = 0 end
                if #stale > tonumber(ARGV[6]) then stale, staleEnds = '', 0 end
                if ends > now and ends <= now + ARGV[2] then
                    return {'held', ends - now, staleEnds > 0 and stale}
                end
            elseif stored and #stored <= tonumber(ARGV[6]) and not (ARGV[4] == '1' and stored == ARGV[5]) then
                local left = redis.call('PTTL', key)
                if left < 0 or left > tonumber(ARGV[3]) then return {'found', stored, left} end
                stale, staleEnds = stored, now + left
            end
            local ends = now + tonumber(ARGV[2])
            local marker = magic .. ARGV[1] .. string.format('%016d', ends) .. string.format('%016d', staleEnds) .. stale
            local result = redis.pcall('SET', key, marker, 'PX', math.max(ends, staleEnds) - now)
            if result.err then
                if string.find(result.err, 'OOM', 1, true) then return {'full'} end
                return redis.error_reply(result.err)
            end
            redis.call('GET', key)
            return {'granted', staleEnds > 0 and stale}
            """

    /// Token, bytes, milliseconds of their lifetime.
    static let fill =
        preamble + """
            if not isMarker or string.sub(stored, 9, 40) ~= ARGV[1] then return 'refused' end
            local result = redis.pcall('SET', key, ARGV[2], 'PX', ARGV[3])
            if result.err then
                redis.call('DEL', key)
                if string.find(result.err, 'OOM', 1, true) then return 'full' end
                return redis.error_reply(result.err)
            end
            redis.call('GET', key)
            return 'stored'
            """

    /// Token.
    static let release =
        preamble + """
            if not isMarker or string.sub(stored, 9, 40) ~= ARGV[1] then return 'refused' end
            local staleEnds = tonumber(string.sub(stored, 57, 72))
            if staleEnds > now then
                redis.call('SET', key, string.sub(stored, 73), 'PX', staleEnds - now)
            else
                redis.call('DEL', key)
            end
            return 'released'
            """
}

extension LeaseToken {
    /// 32 hexadecimal digits.
    var digits: [UInt8] { Array((high.digits + low.digits).utf8) }
}

extension UInt64 {
    fileprivate var digits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
#endif
