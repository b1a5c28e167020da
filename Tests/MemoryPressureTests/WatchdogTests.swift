//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct WatchdogTests {
    @Test func whatEndsIsLeftAlone() async throws {
        #expect(failingWhenStuck("nothing") { 1 } == 1)
        #expect(throws: CancellationError.self) { try failingWhenStuck("nothing") { throw CancellationError() } }
        #expect(await failingWhenStuck("nothing") { await Task { 2 }.value } == 2)
    }

    @Test func whatHangsFailsAndShowsEveryThread() async throws {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            failingWhenStuck("a wait without end", seconds: 1) { while true { pause() } }
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.contains("STUCK: a wait without end"))
        // A stack names the call; without a debugger the kernel says where a thread waits.
        #expect(errors.contains("pause") || errors.contains("wchan"), "\(errors)")
    }
}
