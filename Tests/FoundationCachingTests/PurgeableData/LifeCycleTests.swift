//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing
import _CacheTestSupport

@Suite struct LifeCycleTests {
    @Test("57 NSPurgeableData() has counter 1: bytes are usable without begin")
    func bornAccessed() {
        let data = NSPurgeableData()
        data.append(Data([1, 2, 3]))
        #expect(data.length == 3)
        data.discardContentIfPossible()
        #expect(!data.isContentDiscarded())
        data.endContentAccess()
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded(), "one end balances the birth")
    }

    @Test("58 end, then begin, answers true and the data is intact", arguments: [0, 1, 4095, 4096, 4097, 1 << 20])
    func endThenBegin(count: Int) {
        let bytes = [UInt8].pattern(count)
        let data = NSPurgeableData(data: Data(bytes))
        for _ in 0..<3 {
            data.endContentAccess()
            #expect(data.beginContentAccess())
            #expect(data as Data == Data(bytes))
        }
    }

    @Test("59 with counter 1, discardContentIfPossible has no effect")
    func discardWhileAccessed() {
        let data = NSPurgeableData(data: Data([UInt8].pattern(5000)))
        data.discardContentIfPossible()
        #expect(!data.isContentDiscarded())
        #expect(data as Data == Data([UInt8].pattern(5000)))
    }

    @Test("60 end and discardContentIfPossible discard, and free the memory")
    func discardFreesMemory() {
        let megabytes = 64
        let before = residentBytes()
        let data = NSPurgeableData(length: megabytes << 20)!
        memset(data.mutableBytes, 7, data.length)
        let filled = residentBytes()
        #expect(filled - before > (megabytes - 8) << 20)
        data.endContentAccess()
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
        #expect(filled - residentBytes() > (megabytes - 8) << 20)
    }

    @Test("61 after a discard begin answers false, for good, and leaves the counter alone")
    func beginAfterDiscard() {
        for count in [0, 1, 5000, 1 << 20] {
            let data = NSPurgeableData(length: count)!
            data.endContentAccess()
            data.discardContentIfPossible()
            #expect(!data.beginContentAccess())
            #expect(!data.beginContentAccess())
            #expect(data.isContentDiscarded())
        }
    }

    @Test("62 nested begins balance like a reference count")
    func nesting() {
        let data = NSPurgeableData(length: 10_000)!
        for _ in 0..<5 { #expect(data.beginContentAccess()) }
        for _ in 0..<5 {
            data.endContentAccess()
            data.discardContentIfPossible()
            #expect(!data.isContentDiscarded())
        }
        data.endContentAccess()
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
    }

    @Test("63 discarding twice is a no-op")
    func discardTwice() {
        let data = NSPurgeableData(length: 10_000)!
        data.endContentAccess()
        data.discardContentIfPossible()
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
    }

    @Test("64 the life cycle of Apple's guide, both branches", arguments: [false, true])
    func lifeCycle(isDiscarded: Bool) {
        var recomputed = 0
        func makeContent() -> NSPurgeableData {
            recomputed += 1
            return NSPurgeableData(data: Data("expensive".utf8))
        }
        var content = makeContent()
        content.endContentAccess()
        if isDiscarded { content.discardContentIfPossible() }
        if !content.beginContentAccess() { content = makeContent() }
        #expect(content as Data == Data("expensive".utf8))
        content.endContentAccess()
        #expect(recomputed == (isDiscarded ? 2 : 1))
    }

    @Test("66 works with no cache at all, from many threads")
    func accessFromManyThreads() {
        let data = NSPurgeableData(data: Data([UInt8].pattern(20_000)))
        data.endContentAccess()
        nonisolated(unsafe) let shared = data
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<2_000 where shared.beginContentAccess() {
                #expect(shared.bytes.load(fromByteOffset: 10, as: UInt8.self) == [UInt8].pattern(20_000)[10])
                shared.endContentAccess()
            }
        }
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
    }

    @Test("withBytes lends the bytes without a copy, counts as an access, and answers nil when they are gone")
    func lending() {
        let data = NSPurgeableData(data: Data([UInt8].pattern(9_000)))
        let base = UInt(bitPattern: data.bytes)
        data.endContentAccess()
        let lent = data.withBytes { span in
            data.discardContentIfPossible()
            return span.withUnsafeBytes { (UInt(bitPattern: $0.baseAddress), [UInt8]($0)) }
        }
        #expect(lent?.0 == base)
        #expect(lent?.1 == [UInt8].pattern(9_000))
        #expect(NSPurgeableData().withBytes { $0.byteCount } == 0)
        data.discardContentIfPossible()
        #expect(data.withBytes { $0.byteCount } == nil)
    }

    @Test("withBytes passes a typed error on and ends the access")
    func lendingThrows() {
        struct Failure: Error {}
        let data = NSPurgeableData(length: 100)!
        data.endContentAccess()
        #expect(throws: Failure.self) { try data.withBytes { _ throws(Failure) in throw Failure() } }
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
    }

    @Test("Bytes that are lent cannot be moved away")
    func lentBytesStay() async {
        await #expect(processExitsWith: .failure) {
            let data = NSPurgeableData(length: 100)!
            _ = data.withBytes { _ in data.length = 1 << 20 }
        }
    }

    @Test("ContentAccess begins and ends with its life, in place of autoContentAccessingProxy")
    func ownedAccess() throws {
        let data = NSPurgeableData(data: Data([1, 2, 3]))
        data.endContentAccess()
        do {
            let access = try #require(ContentAccess(data))
            data.discardContentIfPossible()
            #expect(access.length == 3)
            #expect(access.target === data)
            access.length = 4
            #expect(access.length == 4)
            // Reads and writes by the one subscript.
            access.length += 1
            #expect(data.length == 5)
        }
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
        #expect(ContentAccess(data) == nil)
    }
}
