//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Testing

@Suite("Reading the logs that people have")
struct LogReadingTests {
    func trace(_ text: String, _ columns: TraceColumns = TraceColumns()) throws -> Trace {
        let file = try TemporaryFile(text)
        return try Trace(contentsOf: file.path, columns: columns)
    }

    func failure(_ text: String, _ columns: TraceColumns = TraceColumns()) throws -> TraceError? {
        let file = try TemporaryFile(text)
        do throws(TraceError) {
            _ = try Trace(contentsOf: file.path, columns: columns)
            return nil
        } catch { return error }
    }

    static let stamp = "[10/Oct/2000:13:55:36 -0700]"

    @Test(
        "A line of an access log, with whatever follows the size",
        arguments: [
            "127.0.0.1 - frank \(stamp) \"GET /a?b=1 HTTP/1.0\" 200 2326",
            "::1 - - \(stamp) \"GET /a?b=1 HTTP/2.0\" 200 2326 \"-\" \"Mozilla/5.0 (KHTML, like Gecko)\"",
            "unix: - - \(stamp) \"GET /a?b=1 HTTP/1.1\" 200 2326 \"http://x/\\\"y\\\"\" \"-\" \"1.2.3.4\" 0.012",
        ]
    )
    func accessLog(line: String) throws {
        let trace = try trace("\(line)\n\(line)\r\n")
        #expect(trace.interpretation?.format == .accessLog)
        #expect(trace.interpretation?.examples == ["/a?b=1"])
        #expect(trace.map(\.size) == [2326, 2326] && trace[0].key == trace[1].key)
    }

    @Test("Only what a cache would be asked for counts, and what is left out is counted")
    func cacheable() throws {
        let answers = [
            "\"GET /a HTTP/1.1\" 200 10", "\"HEAD /a HTTP/1.1\" 200 0", "\"GET /a HTTP/1.1\" 304 0",
            "\"POST /a HTTP/1.1\" 200 10", "\"GET /b HTTP/1.1\" 404 10", "\"\\x16\\x03\" 400 150", "\"\" 400 0",
            "\"-\" 408 -", "\"GET /c d HTTP/1.1\" 206 -",
        ]
        let trace = try trace(answers.map { "1.1.1.1 - - \(Self.stamp) \($0)\n" }.joined())
        #expect(trace.count == 4)
        #expect(trace.interpretation?.examples == ["/a", "/c d"])
        #expect(trace.interpretation?.skipped == 5)
    }

    @Test("A request that does not say how large its value is takes the size from others of the key")
    func unknownSizes() async throws {
        let lines = ["304 0", "200 700", "304 0", "206 10"].map {
            "1.1.1.1 - - \(Self.stamp) \"GET /a HTTP/1.1\" \($0)\n"
        }
        let report = try await SimulationPlan(policies: [.lru]).run(over: trace(lines.joined()))
        #expect(report.isSized && report.keys == 1 && report.footprint == 700)
    }

    @Test("Virtual hosts keep the same path apart")
    func virtualHosts() throws {
        let trace = try trace(
            ["a.org:80", "b.org:443", "a.org:80"].map {
                "\($0) 1.1.1.1 - - \(Self.stamp) \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n"
            }.joined()
        )
        #expect(trace[0].key == trace[2].key && trace[0].key != trace[1].key)
        #expect(trace.interpretation?.examples == ["a.org:80/", "b.org:443/"])
    }

    @Test("A line of an access log that is none says where it stands")
    func badAccessLog() throws {
        let good = "1.1.1.1 - - \(Self.stamp) \"GET / HTTP/1.1\" 200 5\n"
        for bad in ["1.1.1.1 - - \(Self.stamp) \"GET /", "1.1.1.1 - - \(Self.stamp) \"GET / HTTP/1.1\" ok 5", "what"] {
            let error = try #require(try failure(good + good + bad + "\n" + good))
            #expect(error.position == .line(3) && error.isAboutContent)
        }
    }

    @Test("A heading names the columns, whatever separates them", arguments: [",", ";", "\t"])
    func heading(separator: String) throws {
        let rows = [["Time", "URL", "Bytes"], ["5", "/a", "10"], ["3", "/b", ""], ["4", "/a", "12"]]
        let text = rows.map { $0.joined(separator: separator) + "\n" }.joined()
        let known = try trace(text)
        #expect(known.map(\.size) == [10, 0, 12] && known[0].key == known[2].key)
        #expect(known.interpretation?.examples == ["/a", "/b"])
        let sorted = try trace(text, TraceColumns(key: "url", size: "bytes", time: "time"))
        #expect(sorted.map(\.size) == [0, 12, 10])
    }

    @Test("Columns may have any name, and quotes any content")
    func namedColumns() throws {
        let text = "what,\"how, large\",when\n\"a,b\",5,2026-11-22T07:25:08Z\nc,6,2026-11-22 09:25:07+02:00\n"
        let trace = try trace(text, TraceColumns(key: "what", size: "how, large", time: "WHEN"))
        #expect(trace.interpretation?.examples == ["a,b", "c"])
        #expect(trace.map(\.size) == [6, 5])
    }

    @Test("JSON lines are read by the names of their fields, also inside objects and behind escapes")
    func jsonLines() throws {
        let text = #"""
            {"time":"x","request":{"uri":"/a","headers":{"A":["b",{"uri":1}]}},"size":10,"ok":true}
            {"size":20,"request":{"uri":"/\u0062\n\"\ud83d\ude00"},"time":null}

            {"request":{"method":"GET"},"size":5}
            { "request" : { "uri" : "/a" } }
            """#
        let trace = try trace(text)
        #expect(trace.interpretation?.format == .jsonLines)
        #expect(trace.interpretation?.examples == ["/a", "/b\"😀"])
        #expect(trace.map(\.size) == [10, 20, 0] && trace[0].key == trace[2].key)
        #expect(trace.interpretation?.skipped == 1)
    }

    @Test("A column that is not there is named, with those that are")
    func missingColumn() throws {
        let csv = try #require(try failure("a,b\n1,2\n", TraceColumns(key: "c")))
        #expect(csv.reason == .missingColumn("c", among: ["a", "b"]) && csv.position == .line(1))
        let json = try #require(try failure("{\"a\":1}\n"))
        #expect(json.reason == .missingColumn("key", among: ["a"]))
        #expect(!json.description.contains("\n"))
    }

    @Test(
        "A value that its column cannot have is named, with the column",
        arguments: [
            ("key,size\na,1\nb,big\n", TraceColumns(), "big", "size"),
            ("key;size;cost\na;1;2\nb;1;-2\n", TraceColumns(), "-2", "cost"),
            ("what,when\na,1\nb,never\n", TraceColumns(key: "what", time: "when"), "never", "when"),
            ("{\"id\":1,\"size\":1}\n\n{\"id\":1,\"size\":-5}\n", TraceColumns(size: "size"), "-5", "size"),
        ]
    )
    func badValue(text: String, columns: TraceColumns, value: String, column: String) throws {
        let error = try #require(try failure(text, columns))
        #expect(error.reason == .badValue(value, column: column) && error.position == .line(3))
        #expect(error.isAboutContent && !error.description.contains("\n"))
        #expect(error.description.contains("the column “\(column)” has “\(value)” in it"))
    }

    @Test(
        "Nonsense is refused",
        arguments: [
            "The quick brown fox\njumps over the lazy dog\n", "<html>\n<body class=x>\n<p>a b</p>\n<p>c d</p>\n",
            "Nov 22 07:25:08 host app[7]: started\nNov 22 07:25:09 host app[7]: ready\n", "{\"a\":\n", "{]\n",
            "\u{1}ab",
        ]
    )
    func nonsense(text: String) throws {
        let error = try #require(try failure(text))
        #expect(error.isAboutContent)
        #expect(!error.description.contains("\n"))
    }

    @Test("A field that is null on the first line of JSON is found on the next ones")
    func nullFields() throws {
        let trace = try trace(
            """
            {"url": null, "bytes": null, "at": null}
            {"url": "/a", "bytes": null, "at": 2}
            {"url": "/b", "bytes": 7, "at": 1}

            """,
            TraceColumns(time: "at")
        )
        #expect(trace.map(\.size) == [7, 0])
        #expect(trace.interpretation?.size == "the field “bytes”")
        #expect(trace.interpretation?.skipped == 1)
    }

    @Test("Requests without a time stay behind the one before them when the others are put in order")
    func missingTimes() throws {
        let trace = try trace("key,at\n1,\n2,20\n3,\n4,10\n5,\n", TraceColumns(time: "at"))
        #expect(trace.map(\.key) == [4, 5, 1, 2, 3])
    }

    @Test("JSON that is cut or wrong is refused at every place")
    func cutJSON() throws {
        let line = #"{"key":"a\u00e4","size":12,"more":[1,{"x":null}],"deep":{"y":{"z":false}}}"#
        #expect(try trace(line).map(\.size) == [12])
        for length in 1..<line.count { #expect(try failure(String(line.prefix(length))) != nil, "\(length)") }
    }
}

@Suite("The knee of a curve, and the memory for a limit")
struct KneeTests {
    @Test("A loop has its knee where all of it fits, and the report says so")
    func loop() async throws {
        // 64 keys in turn, and 960 that come once: LRU hits the 64 as soon as they all fit, and nothing more after
        // that.
        var requests = (0..<12_800).map { TraceRequest(key: UInt64($0 % 64)) }
        requests += (0..<960).map { TraceRequest(key: UInt64(1000 + $0)) }
        let report = try await SimulationPlan(policies: [.lru], sizes: [.amount(64)])
            .run(over: Trace(name: "loop", requests))
        #expect(report.knee() == 64)
        #expect(report.text(.misses).contains("The knee of the curve is at 64 entries"))
    }

    @Test("A limit that holds nearly all is named though it is no knee, and so is what no cache can have")
    func plateau() async throws {
        // LRU hits a key as soon as it holds as many as were asked for since: here 2, 4, … 64 in turn, of 90.
        var stack = (0..<90).map { UInt64($0) }
        var requests = stack.reversed().map { TraceRequest(key: $0) }
        for turn in 0..<1710 {
            let key = stack.remove(at: (2 << (turn % 6)) - 1)
            stack.insert(key, at: 0)
            requests.append(TraceRequest(key: key))
        }
        let plan = SimulationPlan(policies: [.lru], sizes: [.amount(10)])
        let report = try await plan.run(over: Trace(name: "falling", requests))
        let text = report.text(.misses)
        #expect(report.knee() == nil)
        #expect(text.contains("5.0 % of the requests are the first for their key: no cache has those."))
        // Of 90/√2 = 63, 90/2^¼ = 75 and 90, the second is the first to hold 64.
        #expect(text.contains("The curve has no knee: up to 90 entries, a doubling saves 14.6 points"))
        #expect(text.contains("From 75 entries on, all further memory saves 0.0 points."))
        let loop = try await plan.run(over: Trace(name: "loop", (0..<1000).map { TraceRequest(key: UInt64($0 % 64)) }))
        #expect(!loop.text(.misses).contains("all further memory"), "nothing less than all of it holds nearly all")
    }

    @Test("A curve that does not fall is called flat")
    func flat() async throws {
        let requests = (0..<2000).map { TraceRequest(key: UInt64($0 / 2)) }
        let report = try await SimulationPlan(policies: [.lru], sizes: [.amount(10)])
            .run(over: Trace(name: "pairs", requests))
        #expect(report.knee() == nil)
        #expect(report.text(.misses).contains("The curve is flat"))
    }

    @Test("A few requests have no knee, and the report says that they are too few")
    func few() async throws {
        // Eight keys in turn, and 56 that come once.
        var requests = (0..<568).map { TraceRequest(key: UInt64($0 % 8)) }
        requests += (0..<56).map { TraceRequest(key: UInt64(1000 + $0)) }
        let plan = SimulationPlan(policies: [.lru], sizes: [.amount(4)])
        let short = try await plan.run(over: Trace(name: "short", requests))
        #expect(short.knee() == nil)
        #expect(short.text(.misses).contains("624 requests are too few to look for the knee"))
        let enough = try await plan.run(over: Trace(name: "enough", requests + [TraceRequest(key: 0)]))
        #expect(enough.knee() == 8)
    }

    @Test("Memory is the values and what each entry takes beside its own")
    func memory() async throws {
        let requests = (0..<1000).map { TraceRequest(key: UInt64($0 % 100), size: 1000) }
        let report = try await SimulationPlan(policies: [.memoryCache], sizes: [.bytes(50_000)])
            .run(over: Trace(name: "sized", requests))
        let result = try #require(report.result(.memoryCache, capacity: 50_000))
        let entries = try #require(result.entries)
        #expect((1...50).contains(entries) && result.used == entries * 1000)
        let memory = try #require(report.memory(of: result))
        #expect(memory > result.used + 100 * entries && memory < result.used + 200 * entries)
    }
}
