//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing

@Suite struct InitialiserTests {
    /// 74: empty, one byte, a page and its neighbours, many pages.
    static let sizes = [0, 1, 4095, 4096, 4097, 1 << 24]

    private func expectEqual(_ data: NSPurgeableData, _ reference: NSMutableData, _ comment: Comment? = nil) {
        #expect(data.length == reference.length, comment)
        #expect(memcmp(data.bytes, reference.bytes, reference.length) == 0, comment)
        // Counter 1: discard has no effect; one end makes it possible.
        data.discardContentIfPossible()
        #expect(!data.isContentDiscarded(), comment)
        data.endContentAccess()
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded(), comment)
    }

    @Test("68 and 74 init(bytes:), init(data:), init(length:), init(capacity:) equal NSMutableData's", arguments: sizes)
    func copying(count: Int) throws {
        let bytes = [UInt8].pattern(count)
        expectEqual(NSPurgeableData(bytes: bytes, length: count), NSMutableData(bytes: bytes, length: count))
        expectEqual(NSPurgeableData(data: Data(bytes)), NSMutableData(data: Data(bytes)))
        expectEqual(try #require(NSPurgeableData(length: count)), try #require(NSMutableData(length: count)))
        expectEqual(try #require(NSPurgeableData(capacity: count)), try #require(NSMutableData(capacity: count)))
        expectEqual(NSPurgeableData(), NSMutableData())
        expectEqual(NSPurgeableData(bytes: nil, length: 0), NSMutableData(bytes: nil, length: 0))
    }

    @Test("init(bytesNoCopy:) takes the bytes over: it frees them, or hands them to the deallocator once")
    func takingOver() {
        let count = 5000
        func allocate() -> UnsafeMutableRawPointer {
            let bytes = malloc(count)!
            _ = [UInt8].pattern(count).withUnsafeBytes { memcpy(bytes, $0.baseAddress!, count) }
            return bytes
        }
        let reference = NSMutableData(bytes: [UInt8].pattern(count), length: count)
        expectEqual(NSPurgeableData(bytesNoCopy: allocate(), length: count), reference)
        expectEqual(NSPurgeableData(bytesNoCopy: allocate(), length: count, freeWhenDone: true), reference)
        let kept = allocate()
        expectEqual(NSPurgeableData(bytesNoCopy: kept, length: count, freeWhenDone: false), reference)
        var released: [(UnsafeMutableRawPointer, Int)] = []
        expectEqual(NSPurgeableData(bytesNoCopy: kept, length: count) { released.append(($0, $1)) }, reference)
        #expect(released.count == 1 && released[0] == (kept, count))
        expectEqual(NSPurgeableData(bytesNoCopy: kept, length: count, deallocator: nil), reference)
        free(kept)
    }

    @Test("68 and 73 contents of files and URLs, and writing them", arguments: sizes)
    func files(count: Int) throws {
        let path = NSTemporaryDirectory() + "/purgeable-\(ProcessInfo.processInfo.processIdentifier)-\(count)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let url = URL(fileURLWithPath: path)
        let source = NSPurgeableData(data: Data([UInt8].pattern(count)))
        for write in [
            { try source.write(toFile: path) }, { try source.write(to: url) },
            { try source.write(to: url, options: .atomic) },
        ] {
            try? FileManager.default.removeItem(atPath: path)
            try write()
            let reference = NSMutableData(data: Data([UInt8].pattern(count)))
            expectEqual(try #require(NSPurgeableData(contentsOfFile: path)), reference)
            expectEqual(try NSPurgeableData(contentsOfFile: path, options: []), reference)
            expectEqual(try #require(NSPurgeableData(contentsOf: url)), reference)
            expectEqual(try NSPurgeableData(contentsOf: url, options: []), reference)
        }
    }

    @Test("Initialisers fail as NSMutableData's do")
    func failing() {
        #expect(NSPurgeableData(contentsOfFile: "/nonexistent/file") == nil)
        #expect(NSPurgeableData(contentsOf: URL(fileURLWithPath: "/nonexistent/file")) == nil)
        #expect(throws: (any Error).self) { try NSPurgeableData(contentsOfFile: "/nonexistent/file", options: []) }
        #expect(throws: (any Error).self) {
            try NSPurgeableData(contentsOf: URL(fileURLWithPath: "/nonexistent/file"), options: [])
        }
        #expect(NSPurgeableData(base64Encoded: "!") == nil)
        #expect(NSPurgeableData(base64Encoded: Data("!".utf8)) == nil)
        #expect(NSPurgeableData(length: -1) == nil)
        #expect(NSPurgeableData(capacity: -1) == nil)
        for length in [.max, 1 << 47 - 1, 1 << 40 + 1] { #expect(NSPurgeableData(length: length) == nil) }
        #expect(NSPurgeableData(capacity: .max)?.length == 0)
    }

    @Test("Base64, both ways", arguments: [0, 1, 2, 3, 4095, 4097])
    func base64(count: Int) throws {
        let reference = NSMutableData(data: Data([UInt8].pattern(count)))
        let encoded = NSPurgeableData(data: reference as Data).base64EncodedString()
        #expect(encoded == reference.base64EncodedString())
        expectEqual(try #require(NSPurgeableData(base64Encoded: encoded)), reference)
        expectEqual(try #require(NSPurgeableData(base64Encoded: Data(encoded.utf8))), reference)
        let broken = "\n" + encoded + "\n"
        expectEqual(try #require(NSPurgeableData(base64Encoded: broken, options: .ignoreUnknownCharacters)), reference)
    }

    @Test("72 a keyed archive makes the round trip: same bytes, counter 1", arguments: [0, 1, 4096, 100_000])
    func archives(count: Int) throws {
        let reference = NSMutableData(data: Data([UInt8].pattern(count)))
        let source = NSPurgeableData(data: reference as Data)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: source, requiringSecureCoding: true)
        let data = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPurgeableData.self, from: archive))
        expectEqual(data, reference)
        for type in [NSMutableData.self, NSData.self] {
            let data = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: archive))
            #expect(data.isEqual(reference))
        }
    }

    @Test("An archive of NSMutableData decodes into it, and its own names NSMutableData as the fallback")
    func archivesOfMutableData() throws {
        let bytes = Data([UInt8].pattern(100))
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: NSMutableData(data: bytes),
            requiringSecureCoding: true
        )
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archive)
        unarchiver.setClass(NSPurgeableData.self, forClassName: "NSMutableData")
        let decoded = unarchiver.decodeObject(of: NSPurgeableData.self, forKey: NSKeyedArchiveRootObjectKey)
        expectEqual(try #require(decoded), NSMutableData(data: bytes))
        #expect(NSPurgeableData.classFallbacksForKeyedArchiver() == ["NSMutableData", "NSData"])
    }

    @Test("The access may end before the archive is finished")
    func archivesASnapshot() throws {
        let source = NSPurgeableData(data: Data([1, 2, 3]))
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(source, forKey: "data")
        source.endContentAccess()
        source.discardContentIfPossible()
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let data = unarchiver.decodeObject(of: NSPurgeableData.self, forKey: "data")
        #expect(data?.isEqual(to: Data([1, 2, 3])) == true)
    }
}
