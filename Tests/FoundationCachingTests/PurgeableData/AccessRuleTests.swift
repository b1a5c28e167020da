//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import Foundation
import FoundationCaching
import Testing

/// Every member of `NSMutableData` that touches bytes or length, directly or through others.
enum DataMember: String, CaseIterable, Codable, Sendable {
    case length, setLength, bytes, mutableBytes, increaseLength, appendBytes, appendData, replaceBytes
    case replaceBytesWithLength, resetBytes, setData, getBytesLength, getBytesRange, subdata, rangeOf
    case enumerateBytes, isEqualToNSData, isEqualToData, isEqualFromNSData, hash, hashValue, copy, mutableCopy
    case asData, dataReferencing, base64String, base64Data, writeToFile, writeToURL, encode, archive
    case asArray, asDispatchData

    /// Uses the member in a way that is right while the content is accessed.
    func use(_ data: NSPurgeableData) throws {
        var scratch = [UInt8](repeating: 0, count: 4)
        let other = NSData(bytes: [1, 2, 3, 4] as [UInt8], length: 4)
        let file = NSTemporaryDirectory() + "/purgeable-access-\(ProcessInfo.processInfo.processIdentifier)-\(rawValue)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        switch self {
        case .length: _ = data.length
        case .setLength: data.length = 8
        case .bytes: _ = data.bytes
        case .mutableBytes: _ = data.mutableBytes
        case .increaseLength: data.increaseLength(by: 1)
        case .appendBytes: data.append(other.bytes, length: 4)
        case .appendData: data.append(Data([1]))
        case .replaceBytes: data.replaceBytes(in: NSRange(location: 0, length: 2), withBytes: other.bytes)
        case .replaceBytesWithLength:
            data.replaceBytes(in: NSRange(location: 0, length: 2), withBytes: other.bytes, length: 3)
        case .resetBytes: data.resetBytes(in: NSRange(location: 0, length: 1))
        case .setData: data.setData(Data([1]))
        case .getBytesLength: data.getBytes(&scratch, length: 2)
        case .getBytesRange: data.getBytes(&scratch, range: NSRange(location: 1, length: 2))
        case .subdata: _ = data.subdata(with: NSRange(location: 1, length: 2))
        case .rangeOf: _ = data.range(of: Data([2]), options: [], in: NSRange(location: 0, length: 3))
        case .enumerateBytes: data.enumerateBytes { _, _, _ in }
        case .isEqualToNSData: _ = data.isEqual(other)
        case .isEqualToData: _ = data.isEqual(to: Data([1]))
        case .isEqualFromNSData: _ = other.isEqual(data)
        case .hash: _ = data.hash
        case .hashValue: _ = data.hashValue
        case .copy: _ = data.copy()
        case .mutableCopy: _ = data.mutableCopy()
        case .asData: _ = data as Data
        case .dataReferencing: _ = Data(referencing: data)
        case .base64String: _ = data.base64EncodedString()
        case .base64Data: _ = data.base64EncodedData()
        case .writeToFile: try data.write(toFile: file)
        case .writeToURL: try data.write(to: URL(fileURLWithPath: file), options: .atomic)
        case .encode:
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            data.encode(with: archiver)
            archiver.finishEncoding()
        case .archive: _ = try NSKeyedArchiver.archivedData(withRootObject: data, requiringSecureCoding: true)
        case .asArray: _ = [UInt8](data as Data)
        case .asDispatchData: _ = data.isEqual(DispatchData.empty)
        }
    }
}

@Suite struct AccessRuleTests {
    @Test("While it is accessed every member works", arguments: DataMember.allCases)
    func accessedMemberWorks(member: DataMember) throws {
        try member.use(NSPurgeableData(bytes: [1, 2, 3, 4] as [UInt8], length: 4))
    }

    @Test("75 un-begun access terminates, and says what to do", arguments: DataMember.allCases)
    func unbegunAccessStops(member: DataMember) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [member] in
            let data = NSPurgeableData(bytes: [1, 2, 3, 4] as [UInt8], length: 4)
            data.endContentAccess()
            try member.use(data)
        }
        expectAdvice(result)
    }

    @Test("Discarded content cannot be used either", arguments: [DataMember.length, .bytes, .appendData, .asData])
    func discardedAccessStops(member: DataMember) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [member] in
            let data = NSPurgeableData(length: 1 << 20)!
            data.endContentAccess()
            data.discardContentIfPossible()
            try member.use(data)
        }
        expectAdvice(result)
    }

    private func expectAdvice(_ result: ExitTest.Result?) {
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("NSPurgeableData.") && message.contains("beginContentAccess()"), "\(message)")
    }

    @Test("Ending an access that nobody began terminates")
    func endingTooOftenStops() async {
        await #expect(processExitsWith: .failure) {
            let data = NSPurgeableData()
            data.endContentAccess()
            data.endContentAccess()
        }
    }

    @Test("Ending an access to discarded content terminates")
    func endingDiscardedStops() async {
        await #expect(processExitsWith: .failure) {
            let data = NSPurgeableData(length: 1 << 16)!
            data.endContentAccess()
            data.discardContentIfPossible()
            _ = data.beginContentAccess()
            data.endContentAccess()
        }
    }

    @Test("Descriptions never terminate while another thread begins and ends accesses and discards the content")
    func descriptionsAreSafeBesideOthers() async {
        await #expect(processExitsWith: .success) {
            let queue = DispatchQueue.global()
            for _ in 0..<200 {
                let data = NSPurgeableData(data: Data([1, 2, 3, 4]))
                let texts = [
                    "<01020304>", "<NSPurgeableData: content not accessed>", "<NSPurgeableData: content discarded>",
                ]
                let group = DispatchGroup()
                nonisolated(unsafe) let shared = data
                group.enter()
                queue.async {
                    for _ in 0..<500 {
                        shared.endContentAccess()
                        guard shared.beginContentAccess() else { break }
                    }
                    shared.endContentAccess()
                    shared.discardContentIfPossible()
                    group.leave()
                }
                while group.wait(timeout: .now()) == .timedOut {
                    precondition(texts.contains(data.description))
                    precondition(texts.contains(data.debugDescription))
                }
            }
        }
    }

    @Test("Descriptions, the question and the discard never terminate, whatever the state")
    func descriptionsAreSafe() {
        let data = NSPurgeableData(bytes: [1, 2, 3, 4] as [UInt8], length: 4)
        #expect(data.description == "<01020304>")
        #expect(data.debugDescription == "<01020304>")
        data.endContentAccess()
        #expect(data.description.contains("not accessed"))
        #expect(data.debugDescription.contains("not accessed"))
        #expect("\(data)".contains("not accessed"))
        #expect(!data.isContentDiscarded())
        data.discardContentIfPossible()
        #expect(data.description.contains("discarded"))
        #expect(data.debugDescription.contains("discarded"))
        #expect(data.isContentDiscarded())
        data.discardContentIfPossible()
    }
}
