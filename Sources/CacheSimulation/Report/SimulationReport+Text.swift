//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

extension SimulationReport {
    /// A heading, a table of policies by sizes, and what each limit buys.
    public func text(_ metric: Metric) -> String {
        let what = isSized ? ", \(Quantity.bytes(footprint)) of values" : ""
        var text = "\(trace): \(requests.grouped) requests for \(keys.grouped) keys\(what)\n"
        var table = TextTable(
            [metric.title] + zip(sizes, capacities).map { "\($0) = \(capacityText($1))" }.map(Self.withoutEcho)
        )
        for policy in policies {
            let cells = capacities.map { capacity in
                result(policy, capacity: capacity).map { Quantity.fixed(100 * metric.value(of: $0), decimals: 2) } ?? ""
            }
            table.append([policy.rawValue] + cells)
        }
        text += table.text
        let advice = advice(metric) + [firstRequestsSentence, kneeSentence(metric)].compactMap(\.self)
        if !advice.isEmpty { text += "\n" + advice.map { "\($0)\n" }.joined() }
        return text
    }

    /// What the next limit up would save and the next one down would lose, a sentence for each size.
    public func advice(_ metric: Metric) -> [String] {
        guard let policy = Self.adviser(of: policies) else { return [] }
        // Saved points read alike for hits and misses.
        let metric = metric == .hits ? .misses : metric
        return capacities.compactMap { capacity in
            guard let here = result(policy, capacity: capacity) else { return nil }
            let share = metric.value(of: here)
            let limit = capacityText(capacity) + memoryText(here)
            var parts = ["\(limit): \(policy.rawValue) misses \(Quantity.percent(share))"]
            if let twice = result(policy, capacity: 2 * capacity) {
                parts.append(change(share, metric.value(of: twice), "doubling", 2 * capacity))
            }
            if let half = result(policy, capacity: capacity / 2) {
                parts.append(change(share, metric.value(of: half), "halving", capacity / 2))
            }
            return parts.joined(separator: "; ")
        }
    }

    /// What no cache can answer, in a sentence.
    var firstRequestsSentence: String? {
        guard requests > 0 else { return nil }
        return "\(Quantity.percent(Double(keys) / Double(requests))) of the requests are the first for their key: no "
            + "cache has those."
    }

    /// Where the knee of the curve is, and from where on more memory saves less than a point; `nil` without a policy
    /// to ask.
    public func kneeSentence(_ metric: Metric) -> String? {
        let points = points(metric)
        guard let low = points.first, let high = points.last, points.count > 1 else { return nil }
        guard requests >= Knee.leastRequests else {
            return "\(requests.grouped) requests are too few to look for the knee of the curve: it takes "
                + "\(Knee.leastRequests)."
        }
        guard low - high >= Knee.leastHeight else {
            return "The curve is flat: from \(capacityText(curve[0])) to \(capacityText(footprint)), memory changes "
                + "nothing."
        }
        let knee = Knee.index(of: points, at: curve), last = points.count - 1
        var text: String
        if let knee {
            text = "The knee of the curve is at \(capacityText(curve[knee])): each doubling below saves "
            text += "\(saved(points, 0, knee)) points of misses on the mean, each one above "
            text += "\(saved(points, knee, last))."
        } else {
            text = "The curve has no knee: up to \(capacityText(footprint)), a doubling saves "
            text += "\(saved(points, 0, last)) points of misses on the mean."
        }
        if let plateau = Knee.plateau(of: points), plateau != knee {
            text += " From \(capacityText(curve[plateau])) on, all further memory saves "
            text += "\(Quantity.fixed(100 * (points[plateau] - high), decimals: 1)) points."
        }
        return text
    }

    /// The points of misses that a doubling saves on the mean, from one size of the curve to another.
    private func saved(_ points: [Double], _ low: Int, _ high: Int) -> String {
        let doublings = Knee.doublings(from: low, to: high, of: curve)
        return Quantity.fixed(low == high ? 0 : 100 * (points[low] - points[high]) / doublings, decimals: 1)
    }

    private func memoryText(_ result: SimulationResult) -> String {
        guard let entries = result.entries, let memory = memory(of: result) else { return "" }
        let bytes = Quantity.bytes(memory)
        return isSized
            ? " (\(entries.grouped) entries, \(bytes) of memory)" : " (\(bytes) of memory beside the values)"
    }

    private func change(_ here: Double, _ there: Double, _ verb: String, _ capacity: Int) -> String {
        let points = 100 * (here - there)
        let amount = Quantity.fixed(abs(points), decimals: 1)
        if amount == "0.0" { return "\(verb) to \(capacityText(capacity)) would change nothing" }
        return "\(verb) to \(capacityText(capacity)) would \(points > 0 ? "save" : "cost") \(amount) points of misses"
    }

    /// "1,000 = 1,000 entries" says it twice.
    private static func withoutEcho(_ heading: String) -> String {
        let sides = heading.split(separator: " = ", maxSplits: 1)
        guard sides.count == 2, sides[1] == sides[0] || sides[1].hasPrefix("\(sides[0]) ") else { return heading }
        return String(sides[1])
    }

    /// All results as CSV, a line each, with a heading.
    public func csv(heading: Bool = true) -> String {
        var text = heading ? "trace,policy,capacity,unit,requests,hits,hit_ratio,byte_hit_ratio,cost_miss_ratio\n" : ""
        let unit = isSized ? "bytes" : "entries"
        for result in results {
            let ratios = [result.hitRatio, result.byteHitRatio, result.costMissRatio]
                .map { Quantity.fixed($0, decimals: 6) }.joined(separator: ",")
            let name = csvName
            text += "\(name),\(result.policy.rawValue),\(result.capacity),\(unit),\(result.requests),\(result.hits),"
            text += "\(ratios)\n"
        }
        return text
    }

    /// The trace's name as a CSV field (RFC 4180).
    private var csvName: String {
        guard trace.contains(where: { ",\"\n".contains($0) }) else { return trace }
        return "\"" + trace.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
}
