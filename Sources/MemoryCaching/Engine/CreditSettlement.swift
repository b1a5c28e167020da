//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// Whether this thread is asking the governor for credit, and so may be running removal handlers and deinitialisers.
@usableFromInline
enum CreditSettlement {
    @usableFromInline
    @inline(never)
    static var isUnderWay: Bool { cms_settlement_depth().pointee > 0 }

    static func run<R>(_ body: () -> R) -> R {
        let depth = cms_settlement_depth()
        depth.pointee += 1
        defer { depth.pointee -= 1 }
        return body()
    }
}
