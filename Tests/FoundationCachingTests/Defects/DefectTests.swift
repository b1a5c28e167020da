//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing

extension Defect: CustomTestStringConvertible {
    var testDescription: String { "\(rawValue) \(self)" }
}

@Suite struct DefectTests {
    // A process each: a deadlock, a trap and a leak then show as what they are.
    @Test(
        "What goes wrong with Foundation's class goes right here",
        .timeLimit(.minutes(10)),
        arguments: Defect.allCases
    )
    func mended(defect: Defect) async {
        await #expect(processExitsWith: .success) { [defect] in
            if !defect.isMended() { exit(EXIT_FAILURE) }
        }
    }

    // C17, that a cache of Sendable classes is Sendable; C18, that the delegate's method is optional; C19, that
    // NSDiscardableContent and NSPurgeableData exist: the compiler says so in BasicsTests.sendability,
    // DelegateTests.optionalMethod and PurgeableData.
}
