//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#if ValkeySupport
import Foundation
import MemoryCaching
import NIOSSL
import Testing
import TieredCaching
import ValkeyCaching
import _CacheTestSupport

extension ServerTests {
    @Suite("Connections with TLS, users and databases", .serialized)
    struct GreetingTests {
        typealias Cache = ServerTests.Cache

        /// A certificate of a server on loopback, made for one test by `openssl`.
        struct Certificate {
            let directory: String
            var chain: String { directory + "/certificate.pem" }
            var key: String { directory + "/key.pem" }

            /// Nil where there is no `openssl`.
            init?() throws {
                directory = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID())").path()
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
                let (_, status) = TestServer.output(
                    "openssl \(request) -addext subjectAltName=DNS:localhost"
                        + " -keyout \(directory)/key.pem -out \(directory)/certificate.pem 2>&1"
                )
                guard status == 0 else {
                    remove()
                    return nil
                }
            }

            func remove() { try? FileManager.default.removeItem(atPath: directory) }
        }

        /// Whether the server is built with TLS: one that is not stops before it looks for a certificate.
        static func hasTLS(_ kind: TestServer.Kind) -> Bool {
            let (text, _) = TestServer.output(
                "timeout 10 \(kind.program ?? "false") --port 0 --tls-port 1 --tls-cert-file none --tls-key-file none 2>&1"
            )
            return text.contains("Failed to configure TLS")
        }

        @Test("TLS: the right certificate, another name, and nobody's trust", arguments: TestServer.Kind.installed)
        func transportSecurity(_ kind: TestServer.Kind) async throws {
            guard Self.hasTLS(kind) else { return print("SKIPPED: this \(kind.rawValue)-server is built without TLS") }
            guard let certificate = try Certificate() else { return print("SKIPPED: no openssl") }
            defer { certificate.remove() }
            let port = try TestServer.freePort()
            let server = try await TestServer(
                kind,
                "--tls-port",
                "\(port)",
                "--tls-cert-file",
                certificate.chain,
                "--tls-key-file",
                certificate.key,
                "--tls-ca-cert-file",
                certificate.chain,
                "--tls-auth-clients",
                "no",
                "--requirepass",
                "secret"
            )
            var trusting = TLSConfiguration.makeClientConfiguration()
            trusting.trustRoots = .file(certificate.chain)
            do {
                let tier = ValkeyTier(
                    ValkeyConfiguration(
                        port: port,
                        password: "secret",
                        tls: trusting,
                        serverName: "localhost",
                        timeout: .seconds(20)
                    )
                )
                let cache = Cache(name: "cache", remote: tier, codec: .string)
                try await tier.waitUntilConnected(within: .seconds(30))
                await yieldUntil { cache.isCoherent }
                // More than one record of TLS.
                let long = String(repeating: "x", count: 100_000)
                try await cache.setValue(long, forKey: 1)
                #expect(try await cache.value(forKey: 1) == long)
                #expect(cache.nearValue(forKey: 1) == long)
                try await cache.removeValue(forKey: 1)
                await tier.shutDown()
            }
            let refused: [(port: Int, tls: TLSConfiguration?, name: String?)] = [
                // Another name, an address that the certificate does not have, and a certificate that nobody vouches
                // for.
                (port, trusting, "elsewhere.example"), (port, trusting, nil),
                (port, .makeClientConfiguration(), "localhost"),
                // In plain text to the port of TLS, and the other way round.
                (port, nil, nil), (server.port, trusting, "localhost"),
            ]
            for (port, tls, name) in refused {
                let tier = ValkeyTier(ValkeyConfiguration(port: port, password: "secret", tls: tls, serverName: name))
                await #expect(throws: ValkeyIssue.self) { try await tier.waitUntilConnected(within: .seconds(1)) }
                await tier.shutDown()
            }
        }

        @Test(
            "A user with a password, a database, and a user who may not do enough",
            arguments: TestServer.Kind.installed
        )
        func users(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            server.command("ACL", "SETUSER", "alice", "on", ">wonder", "~*", "&*", "+@all")
            server.command("ACL", "SETUSER", "bob", "on", ">builder", "~*", "&*", "+@all", "-script", "-client")
            let alice = ValkeyTier(
                ValkeyConfiguration(
                    port: server.port,
                    username: "alice",
                    password: "wonder",
                    database: 3,
                    timeout: .seconds(20)
                )
            )
            let cache = Cache(name: "cache", remote: alice, codec: .string)
            try await alice.waitUntilConnected(within: .seconds(30))
            await yieldUntil { cache.isCoherent }
            #expect(try await cache.value(forKey: 1) { "one" } == "one")
            // The other database has nothing of it.
            let plain = try await Member(server)
            #expect(try await plain.cache.value(forKey: 1) == nil)
            await plain.tier.shutDown()
            await alice.shutDown()

            let bob = ValkeyTier(ValkeyConfiguration(port: server.port, username: "bob", password: "builder"))
            let refused = await #expect(throws: ValkeyIssue.self) {
                try await bob.waitUntilConnected(within: .seconds(30))
            }
            if case .refused = refused {} else { Issue.record("\(String(describing: refused))") }
            await bob.shutDown()
            let wrong = ValkeyTier(ValkeyConfiguration(port: server.port, username: "alice", password: "wander"))
            let unknown = await #expect(throws: ValkeyIssue.self) {
                try await wrong.waitUntilConnected(within: .seconds(30))
            }
            if case .notAuthenticated = unknown {} else { Issue.record("\(String(describing: unknown))") }
            await wrong.shutDown()
        }
    }
}
#endif
