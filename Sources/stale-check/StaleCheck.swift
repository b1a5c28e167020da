//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import ArgumentParser
import TieredCaching

/// Looks for values that a near cache serves after they were replaced.
@main
struct StaleCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stale-check",
        abstract: "Looks for values that near caches serve after they were replaced.",
        discussion: """
            Starts a server, a process that writes and processes that read. Prints the age of every stale read (how \
            long the next version had been acknowledged when the read began) and the keys that are still old 0.7 s \
            after the last write. With --check it looks at another promise instead. Needs redis-server (apt-get install redis-server) or valkey-server.
            """
    )

    enum Control: String, ExpressibleByArgument, CaseIterable { case none, carelessFill, pooledReports, bareConnection }
    enum Fault: String, ExpressibleByArgument, CaseIterable { case none, kill, stop, flush, cut, swallow }
    enum Check: String, ExpressibleByArgument, CaseIterable { case age, ownWrites, oldFills, oneLoad, outage, speed }
    enum Role: String, ExpressibleByArgument { case parent, reader, writer, caller }

    @Option(help: "The server's program.") var server = "redis-server"
    @Option(help: "Seconds of writing.") var seconds = 10
    @Option(help: "Keys.") var keys = 20
    @Option(help: "Writes a second.") var writes = 2_000
    @Option(help: "Processes that read.") var readers = 3
    @Option(
        help: """
            What reads instead of the library: what is wrong and must be caught (carelessFill, pooledReports), or a \
            thread on a bare connection, whose ages are what the machine takes. \(Control.allCases.map(\.rawValue)).
            """
    )
    var control = Control.none
    @Option(help: "What happens to the server every two seconds: \(Fault.allCases.map(\.rawValue)).")
    var fault = Fault.none
    @Option(help: "What to look at: \(Check.allCases.map(\.rawValue)).") var check = Check.age
    @Option(help: "Rounds of ownWrites and oldFills.") var rounds = 10_000
    @Flag(help: "With oneLoad: the process that loads first is killed.") var deadly = false
    @Flag(help: "Keep every thread of the readers' cooperative pools busy.") var busy = false
    @Option(help: .hidden) var role = Role.parent
    @Option(help: .hidden) var port = 0
    @Option(help: .hidden) var memory = ""
    @Option(help: .hidden) var begin = 0.0

    /// Of the caches that are checked.
    var options: TieredCacheOptions {
        TieredCacheOptions(softTimeout: .milliseconds(500), changeTimeout: .seconds(5))
    }

    func run() async throws {
        switch role {
        case .parent: try await runParent()
        case .writer: try await runWriter()
        case .reader: try await runReader()
        case .caller: try await runCaller()
        }
    }
}
#endif
