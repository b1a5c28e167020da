//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A seccomp filter, as container runtimes install them, that makes madvise(2) fail in this process from now on.
///
/// There is no way back: only for tests in a process of their own.
public enum SeccompFilter {
    /// One instruction of classic BPF.
    private struct Instruction {
        var code: UInt16
        var ifTrue: UInt8 = 0
        var ifFalse: UInt8 = 0
        var operand: UInt32
    }

    private struct Program {
        var count: UInt16
        var instructions: UnsafePointer<Instruction>
    }

    #if arch(x86_64)
    private static let madviseNumber: UInt32 = 28
    private static let seccompNumber = 317
    #else
    private static let madviseNumber: UInt32 = 233
    private static let seccompNumber = 277
    #endif

    /// Makes madvise(2) answer `error` in all threads: for `advice` alone, or for every advice where it is nil.
    /// False where the kernel takes no filter.
    public static func refuseAdvice(_ advice: CInt?, with error: CInt) -> Bool {
        let (load, equal, answer): (UInt16, UInt16, UInt16) = (0x20, 0x15, 0x06)
        let (allow, fail): (UInt32, UInt32) = (0x7FFF_0000, 0x0005_0000 | UInt32(error))
        // The number of the call stands first in what the filter is shown, its third argument at 32.
        var filter = [Instruction(code: load, operand: 0)]
        if let advice {
            filter += [
                Instruction(code: equal, ifFalse: 3, operand: madviseNumber),
                Instruction(code: load, operand: 32),
                Instruction(code: equal, ifFalse: 1, operand: UInt32(advice)),
            ]
        } else {
            filter.append(Instruction(code: equal, ifFalse: 1, operand: madviseNumber))
        }
        filter += [Instruction(code: answer, operand: fail), Instruction(code: answer, operand: allow)]
        // Swift imports no variadic function; on the ABIs in use integers go the same way to both kinds.
        typealias Control = @convention(c) (CInt, CUnsignedLong, CUnsignedLong, CUnsignedLong, CUnsignedLong) -> CInt
        typealias Call = @convention(c) (CLong, CLong, CLong, UnsafeRawPointer?) -> CLong
        let control = unsafeBitCast(dlsym(nil, "prctl"), to: Control.self)
        let call = unsafeBitCast(dlsym(nil, "syscall"), to: Call.self)
        let noNewPrivileges: CInt = 38
        guard control(noNewPrivileges, 1, 0, 0, 0) == 0 else { return false }
        return filter.withUnsafeBufferPointer { instructions in
            var program = Program(count: UInt16(instructions.count), instructions: instructions.baseAddress!)
            let (setModeFilter, synchronizeThreads) = (1, 1)
            return call(seccompNumber, setModeFilter, synchronizeThreads, &program) == 0
        }
    }
}
#endif
