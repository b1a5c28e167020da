//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation

/// The demo's front door: reads the command line, runs the session, and turns its end into an exit code.
///
/// The same program is also its own children (see ``ChildOrder``), so that each kind of cache lives and dies in a
/// process, and a memory cgroup, of its own:
///
///     cache-demo ── origin server on 127.0.0.1, view, report          (no limit)
///       ├─ run: Dictionary ─────────── neighbour, 100 MiB             (cgroup, 256 MiB)
///       ├─ run: Foundation.NSCache ─── neighbour                      (another one)
///       ├─ run: MemoryCache ────────── neighbour
///       ├─ run: PurgeableCache ─────── neighbour
///       └─ run: NSCache, NSPurgeableData ── neighbour
@main
enum CacheDemo {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 2, arguments[0] == ChildOrder.argument { await ChildOrder.obey(arguments[1]) }

        let options: DemoOptions
        do { options = try DemoOptions.parse(arguments) } catch {
            // Help is an "error" with exit code 0; all others become one line.
            if DemoOptions.exitCode(for: error) == .success { DemoOptions.exit(withError: error) }
            fail(BadInput.commandLine(DemoOptions.message(for: error)))
        }
        do {
            let success = try await Session(options).run()
            LiveThings.shared.removeAll()
            Interruption.leave(success ? 0 : 1)
        } catch let error as BadInput {
            fail(error)
        } catch {
            fail(BadInput(description: "\(error)", exitCode: 1))
        }
    }

    private static func fail(_ error: BadInput) -> Never {
        LiveThings.shared.removeAll()
        // Standing in the way of an interruption is not worth a word.
        if !Interruption.isUnderWay { FileHandle.standardError.write(Data("cache-demo: \(error)\n".utf8)) }
        Interruption.leave(error.exitCode)
    }
}
