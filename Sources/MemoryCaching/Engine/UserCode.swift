//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// Whether this thread is telling the user's code of departures.
///
/// What that code inserts is part of the call that runs it. It sweeps nothing: that would run the same code again,
/// inside itself.
@usableFromInline
enum UserCode {
    @usableFromInline
    @inline(never)
    static var isRunning: Bool { cms_user_code_depth().pointee > 0 }

    @usableFromInline
    @inline(never)
    static func begin() { cms_user_code_depth().pointee += 1 }

    @usableFromInline
    @inline(never)
    static func end() { cms_user_code_depth().pointee -= 1 }

    static func run<R>(_ body: () -> R) -> R {
        begin()
        defer { end() }
        return body()
    }
}
