//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing
import _CacheTestSupport

/// `NSPurgeableData` against `NSMutableData`, operation by operation.
@Suite struct DifferentialTests {
    @Test("69 random edits equal NSMutableData's", arguments: 0..<12)
    func randomEdits(run: UInt64) {
        let seed = UInt64.random(in: 0...UInt64.max) &+ run
        print("differential seed \(seed)")
        var random = SplitMix64(seed: seed)
        // Small runs find the corners of ranges, large ones the borders of pages.
        let span = [4, 40, 3_000, 20_000][Int(run % 4)]
        let model = NSMutableData()
        let data = NSPurgeableData()
        for step in 0..<400 {
            edit(model, data, span: span, &random)
            guard data.length == model.length, memcmp(data.bytes, model.bytes, model.length) == 0 else {
                Issue.record("seed \(seed): differs after step \(step)")
                return
            }
            // Foundation makes a Data of a subclass byte by byte: most of the test's time.
            if step % (span > 1_000 ? 50 : 10) == 0 { query(model, data, &random) }
            if Bool.random(using: &random) {
                data.endContentAccess()
                #expect(data.beginContentAccess())
            }
            if model.length > 200_000 {
                model.length = 100
                data.length = 100
            }
        }
    }

    private func edit(_ model: NSMutableData, _ data: NSPurgeableData, span: Int, _ random: inout SplitMix64) {
        let bytes = (0..<Int.random(in: 0...span, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
        }
        let location = Int.random(in: 0...model.length, using: &random)
        let length = Int.random(in: 0...min(span, model.length - location), using: &random)
        let range = NSRange(location: location, length: length)
        let newLength = Int.random(in: 0...model.length + span, using: &random)
        let choice = Int.random(in: 0..<10, using: &random)
        for target in [model, data] {
            switch choice {
            case 0: target.append(bytes, length: bytes.count)
            case 1: target.append(Data(bytes))
            case 2, 3: target.replaceBytes(in: range, withBytes: bytes, length: bytes.count)
            case 4: target.replaceBytes(in: range, withBytes: nil, length: 0)
            case 5: target.resetBytes(in: range)
            case 6: target.increaseLength(by: bytes.count)
            case 7: target.length = newLength
            case 8 where bytes.count > span / 2: target.setData(Data(bytes))
            case 9 where length > 0: target.mutableBytes.storeBytes(of: 0xA5, toByteOffset: location, as: UInt8.self)
            default: target.append(bytes, length: bytes.count / 2)
            }
        }
    }

    private func query(_ model: NSMutableData, _ data: NSPurgeableData, _ random: inout SplitMix64) {
        let location = Int.random(in: 0...model.length, using: &random)
        let range = NSRange(location: location, length: Int.random(in: 0...model.length - location, using: &random))
        #expect(data.subdata(with: range) == model.subdata(with: range))
        #expect(data as Data == model as Data)
        #expect(data.isEqual(model) && model.isEqual(data))
        #expect(data.isEqual(to: model as Data) && model.isEqual(to: data as Data))
        #expect(data.hash == model.hash)
        if model.length < 300 { #expect(data.description == model.description) }
        if model.length < 3_000 {
            #expect(data.debugDescription == model.debugDescription)
            #expect(data.base64EncodedString() == model.base64EncodedString())
        }
        var buffers = [[UInt8]](repeating: .init(repeating: 0, count: range.length), count: 2)
        data.getBytes(&buffers[0], range: range)
        model.getBytes(&buffers[1], range: range)
        #expect(buffers[0] == buffers[1])
        let needle = model.subdata(with: NSRange(location: location, length: min(3, model.length - location)))
        let everything = NSRange(location: 0, length: min(model.length, 200))
        #expect(
            data.range(of: needle, options: [], in: everything) == model.range(of: needle, options: [], in: everything)
        )
        #expect((data.copy() as? NSData) == (model.copy() as? NSData))
        #expect((data.mutableCopy() as? NSMutableData) == (model.mutableCopy() as? NSMutableData))
    }

    @Test("Edits from its own bytes read them before they move")
    func editsFromItself() {
        let bytes = [UInt8].pattern(5_000)
        let data = NSPurgeableData(data: Data(bytes))
        data.append(data.bytes, length: data.length)
        #expect(data as Data == Data(bytes + bytes))
        data.replaceBytes(in: NSRange(location: 10, length: 5), withBytes: data.bytes + 2, length: 7_000)
        #expect(data as Data == Data((bytes + bytes)[..<10] + (bytes + bytes)[2..<7002] + (bytes + bytes)[15...]))
    }

    @Test("Overwriting and resetting may reach past the end: the data grows, as Apple says")
    func overwritingPastTheEnd() {
        let data = NSPurgeableData(data: Data([1, 2, 3]))
        data.replaceBytes(in: NSRange(location: 2, length: 3), withBytes: [7, 8, 9] as [UInt8])
        #expect(data as Data == Data([1, 2, 7, 8, 9]))
        data.replaceBytes(in: NSRange(location: 1, length: 2), withBytes: [4, 5] as [UInt8])
        #expect(data as Data == Data([1, 4, 5, 8, 9]))
        data.resetBytes(in: NSRange(location: 4, length: 3))
        #expect(data as Data == Data([1, 4, 5, 8, 0, 0, 0]))
    }

    @Test("What grows again after shrinking is zero")
    func shrinkAndGrow() {
        let data = NSPurgeableData(data: Data([UInt8].pattern(10_000)))
        data.length = 10
        data.length = 10_000
        #expect(data as Data == Data([UInt8].pattern(10) + [UInt8](repeating: 0, count: 9_990)))
    }

    /// Edits that are wrong in themselves.
    enum WrongEdit: String, CaseIterable, Codable, Sendable {
        case negativeLength, negativeIncrease, rangeBehindEnd, rangePastEnd, hugeRange, missingBytes, resetBehindEnd
        case subdataPastEnd, getBytesPastEnd

        func apply(to data: NSPurgeableData) {
            var scratch = [UInt8](repeating: 0, count: 64)
            switch self {
            case .negativeLength: data.length = -1
            case .negativeIncrease: data.increaseLength(by: -5)
            case .rangeBehindEnd:
                data.replaceBytes(in: NSRange(location: 5, length: 0), withBytes: scratch, length: 1)
            case .rangePastEnd: data.replaceBytes(in: NSRange(location: 2, length: 3), withBytes: scratch, length: 1)
            case .hugeRange: data.replaceBytes(in: NSRange(location: 1, length: .max), withBytes: scratch, length: 1)
            case .missingBytes: data.replaceBytes(in: NSRange(location: 0, length: 1), withBytes: nil, length: 4)
            case .resetBehindEnd: data.resetBytes(in: NSRange(location: 5, length: 1))
            case .subdataPastEnd: _ = data.subdata(with: NSRange(location: 0, length: 64))
            case .getBytesPastEnd: data.getBytes(&scratch, range: NSRange(location: 2, length: 60))
            }
        }
    }

    @Test("Ranges and lengths out of bounds terminate with a message of our own", arguments: WrongEdit.allCases)
    func wrongEdits(edit: WrongEdit) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [edit] in
            edit.apply(to: NSPurgeableData(data: Data([1, 2, 3, 4])))
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("NSPurgeableData."), "\(message)")
    }
}
