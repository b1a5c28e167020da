//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// How this thread tells the user's code of departures: how deep it is inside that code, and what it has put off.
///
/// A removal handler may use caches, and what leaves them by that is told to handlers again, inside the first. Handlers
/// that put what has left back into a cache would so call each other until the stack ends. So they run inside each
/// other on ``mostLevels`` levels at most; what leaves deeper waits until the handler of the last level has returned,
/// and is told then, in the order in which it left.
///
/// ``PurgeableCache`` puts all off in this way, because what leaves it is often found where no handler may run; the call
/// that made it leave tells of it before it returns. So all is told by the thread whose call made it leave.
///
/// What a handler inserts is part of the call that runs it. It sweeps nothing: that would run the same code again,
/// inside itself.
@usableFromInline
enum UserCode {
    /// Handlers that run inside each other at most. One level of a handler that only sets a value takes 1 to 4 KB of
    /// stack in a release build (8 MB were used up by 2,000 to 8,000 levels), and a thread may have but 512 KB.
    static var mostLevels: Int32 { 16 }

    @usableFromInline
    @inline(never)
    static var isRunning: Bool { cms_user_code_depth().pointee > 0 }

    /// Whether no further handler may run inside those that run.
    @usableFromInline
    @inline(never)
    static var isDeepest: Bool { cms_user_code_depth().pointee >= mostLevels }

    @usableFromInline
    @inline(never)
    static func begin() { cms_user_code_depth().pointee += 1 }

    @usableFromInline
    @inline(never)
    static func end() {
        if isDeepest { tellPutOff() }
        cms_user_code_depth().pointee -= 1
    }

    /// Runs code of the user's that no other may run inside of.
    static func runDeepest<R>(_ body: () -> R) -> R {
        cms_user_code_depth().pointee += mostLevels
        defer {
            tellPutOff()
            cms_user_code_depth().pointee -= mostLevels
        }
        return body()
    }

    // MARK: What is put off

    private final class Untold {
        var tellings: [() -> Void] = []
    }

    /// Keeps `telling`, which calls handlers, for ``tellPutOff()``.
    @usableFromInline
    @inline(never)
    static func putOff(_ telling: @escaping () -> Void) {
        let place = cms_untold()
        if place.pointee == nil { place.pointee = Unmanaged.passRetained(Untold()).toOpaque() }
        Unmanaged<Untold>.fromOpaque(place.pointee!).takeUnretainedValue().tellings.append(telling)
    }

    /// Calls the handlers of all that this thread has put off, unless it is too deep inside handlers already.
    static func tell() {
        if cms_untold().pointee == nil || isDeepest { return }
        begin()
        tellPutOff()
        end()
    }

    /// What is put off meanwhile is told, too.
    private static func tellPutOff() {
        while let place = cms_untold().pointee {
            cms_untold().pointee = nil
            let untold = Unmanaged<Untold>.fromOpaque(place).takeRetainedValue()
            // Each lets go of what it has told of, before the next is told.
            untold.tellings.reverse()
            while let telling = untold.tellings.popLast() { telling() }
        }
    }
}
