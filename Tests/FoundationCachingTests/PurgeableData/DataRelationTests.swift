//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing

@Suite struct DataRelationTests {
    @Test("67 is NSMutableData and NSData, and passes to what takes them")
    func passesAsData() throws {
        func mutate(_ data: NSMutableData) { data.append(Data("]".utf8)) }
        func count(_ data: NSData) -> Int { data.length }
        let data = NSPurgeableData(data: Data("[1, 2".utf8))
        mutate(data)
        #expect(count(data) == 6)
        #expect(try JSONSerialization.jsonObject(with: data as Data) as? [Int] == [1, 2])
        #expect(String(data: data as Data, encoding: .utf8) == "[1, 2]")
        let list = try PropertyListSerialization.data(fromPropertyList: ["data": data], format: .xml, options: 0)
        let read = try PropertyListSerialization.propertyList(from: list, format: nil) as? [String: Data]
        #expect(read?["data"] == data as Data)
    }

    @Test("70 isEqual both ways with NSData and Data, and equal hashes", arguments: [0, 1, 79, 80, 81, 4096, 100_000])
    func equality(count: Int) {
        let bytes = Data([UInt8].pattern(count))
        let data = NSPurgeableData(data: bytes)
        for equal in [NSData(data: bytes), NSMutableData(data: bytes), NSPurgeableData(data: bytes)] {
            #expect(data.isEqual(equal) && equal.isEqual(data))
            #expect(data == equal && equal == data)
            #expect(data.hash == equal.hash)
        }
        #expect(data.isEqual(bytes) && data.isEqual(to: bytes))
        #expect(data.isEqual(data))
        #expect(Set<NSData>([NSData(data: bytes)]).contains(data))
        let other = NSData(data: bytes + [1])
        #expect(!data.isEqual(other) && !other.isEqual(data) && !data.isEqual(to: other as Data))
        #expect(!data.isEqual(nil) && !data.isEqual("text") && !data.isEqual(NSObject()))
    }

    @Test(
        "71 copy and mutableCopy survive the discard, and so do Data and subdata",
        arguments: [1, 100, 4096, 100_000]
    )
    func copiesSurvive(count: Int) throws {
        let bytes = Data([UInt8].pattern(count))
        let data = NSPurgeableData(data: bytes)
        let copy = try #require(data.copy() as? NSData)
        let mutableCopy = try #require(data.mutableCopy() as? NSMutableData)
        let value = data as Data
        let referencing = Data(referencing: data)
        let part = data.subdata(with: NSRange(location: 0, length: count))
        memset(data.mutableBytes, 0xFF, count)
        data.endContentAccess()
        data.discardContentIfPossible()
        #expect(data.isContentDiscarded())
        #expect(!(copy is NSPurgeableData) && !(mutableCopy is NSPurgeableData))
        #expect(copy as Data == bytes && mutableCopy as Data == bytes)
        #expect(value == bytes && referencing == bytes && part == bytes)
    }

    @Test("A subclass works")
    func subclass() {
        final class Tile: NSPurgeableData {
            var row = 0
            override func discardContentIfPossible() { row = -1; super.discardContentIfPossible() }
        }
        let tile = Tile(data: Data([1, 2, 3]))
        tile.append(Data([4]))
        tile.endContentAccess()
        tile.discardContentIfPossible()
        #expect(tile.row == -1 && tile.isContentDiscarded())
    }
}
