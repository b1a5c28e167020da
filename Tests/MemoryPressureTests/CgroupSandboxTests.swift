//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@Suite struct CgroupSandboxTests {
    @Test(.enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup"))
    func aProcessBeyondTheLimitIsKilled() async throws {
        let sandbox = try CgroupSandbox(limitBytes: 32 << 20)
        defer { sandbox.remove() }
        await #expect(processExitsWith: .signal(9)) { [directory = sandbox.directory as String] in
            try CgroupSandbox.enter(directory)
            _ = [UInt8](repeating: 1, count: 64 << 20)
        }
        #expect(sandbox.outOfMemoryKills == 1)
    }

    @Test(.enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup"))
    func aProcessWithinTheLimitIsNot() async throws {
        let sandbox = try CgroupSandbox(limitBytes: 64 << 20)
        defer { sandbox.remove() }
        await #expect(processExitsWith: .success) { [directory = sandbox.directory as String] in
            try CgroupSandbox.enter(directory)
            let bytes = [UInt8](repeating: 1, count: 16 << 20)
            #expect(bytes.last == 1)
        }
        #expect(sandbox.outOfMemoryKills == 0)
        #expect(sandbox.peakBytes ?? .max >= 16 << 20)
    }

    @Test(.enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup"))
    func aProgramRunsInsideAndSaysHowItEnded() throws {
        let sandbox = try CgroupSandbox(limitBytes: 32 << 20)
        defer { sandbox.remove() }
        let well = try sandbox.run("/bin/sh", ["-c", "echo $WORD; exit 3"], environment: ["WORD": "well"])
        #expect(well.exitStatus == 3 && well.output == "well\n" && !well.wasKilled, "\(well)")
        // A shell that doubles a string without end.
        let killed = try sandbox.run("/bin/sh", ["-c", "x=x; while :; do x=$x$x; done"])
        #expect(killed.wasKilled, "\(killed)")
        #expect(sandbox.outOfMemoryKills >= 1)
    }
}
