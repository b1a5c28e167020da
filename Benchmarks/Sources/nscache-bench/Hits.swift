//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport
import Foundation
import FoundationCaching

/// Time of a hit: rounds of both classes by turns, medians.
func compareHits() {
    let count = 100_000
    let value = NSObject()
    print("hit, \(count) entries, one thread        Foundation        here     ratio")

    func compare<Key: AnyObject>(_ name: String, stored: [Key], asked: [Key]) {
        let theirs = Theirs<Key, NSObject>()
        let ours = Ours<Key, NSObject>()
        for key in stored {
            theirs.setObject(value, forKey: key)
            ours.setObject(value, forKey: key)
        }
        var times: (theirs: [Double], ours: [Double]) = ([], [])
        for _ in 0..<5 {
            times.theirs.append(time(theirs, asked))
            times.ours.append(time(ours, asked))
        }
        let ratio = zip(times.theirs, times.ours).map { $0 / $1 }.median
        print(
            name.padded(to: 38),
            times.theirs.median.fixed(0).indented(to: 9) + " ns",
            times.ours.median.fixed(0).indented(to: 9) + " ns",
            ratio.fixed(1).indented(to: 8)
        )
    }

    func time<Cache: ObjectCache>(_ cache: Cache, _ keys: [Cache.KeyType]) -> Double {
        var hits = 0
        let time = nanoseconds(per: keys.count) {
            for key in keys where cache.object(forKey: key) != nil { hits += 1 }
        }
        precondition(hits == keys.count)
        return time
    }

    func strings() -> [NSString] { (0..<count).map { NSString(string: "https://example.com/image/\($0)") } }
    func numbers() -> [NSNumber] { (0..<count).map { NSNumber(value: $0) } }
    let (text, number) = (strings(), numbers())
    compare("NSString, the same objects", stored: text, asked: text)
    compare("NSString, the same objects, shuffled", stored: text, asked: text.shuffled())
    compare("NSString, equal objects", stored: text, asked: strings())
    compare("NSString, one object", stored: text, asked: [NSString](repeating: text[7], count: count))
    compare("NSNumber, the same objects", stored: number, asked: number)
    compare("NSNumber, equal objects", stored: number, asked: numbers())
    let urls = (0..<10_000).map { NSURL(string: "https://example.com/image/\($0)")! }
    compare("NSURL, the same 10,000 objects", stored: urls, asked: urls)
}

/// Share of hits on a skewed stream of keys (Zipf, exponent 0.9) with room for a tenth of them.
func compareHitRatios() {
    let keys = (0..<20_000).map { NSNumber(value: $0) }
    let stream = Array(ZipfRanks(keys: keys.count, exponent: 0.9, seed: 1).prefix(400_000))
    func ratio<Cache: ObjectCache<NSNumber, NSNumber>>(_ cache: Cache) -> Double {
        cache.countLimit = keys.count / 10
        var hits = 0
        for key in stream {
            if cache.object(forKey: keys[key]) != nil {
                hits += 1
            } else {
                cache.setObject(keys[key], forKey: keys[key], cost: 0)
            }
        }
        return Double(hits) / Double(stream.count)
    }
    let (theirs, ours) = (ratio(Theirs<NSNumber, NSNumber>()), ratio(Ours<NSNumber, NSNumber>()))
    let figures = [theirs.fixed(3).indented(to: 14), ours.fixed(3).indented(to: 12), (ours / theirs).fixed()]
    print("hit ratio, room for a tenth".padded(to: 39) + figures[0] + figures[1] + figures[2].indented(to: 9))
}

/// Insertions whose costs rise, the worst case of an order by cost.
func compareAscendingCosts() {
    func time<Cache: ObjectCache<NSNumber, NSNumber>>(_ cache: Cache, _ keys: [NSNumber]) -> Double {
        seconds { for (cost, key) in keys.enumerated() { cache.setObject(key, forKey: key, cost: cost) } }
    }
    func report(_ count: Int, _ theirs: String, _ ours: Double, _ ratio: String = "") {
        let name = "\(count) inserts, ascending costs".padded(to: 38)
        print(name + theirs.indented(to: 12) + "\(ours.fixed(4)) s".indented(to: 13) + ratio.indented(to: 9))
    }
    let keys = (0..<100_000).map { NSNumber(value: $0) }
    for count in [5_000, 10_000, 20_000] {
        let some = Array(keys.prefix(count))
        let theirs = time(Theirs<NSNumber, NSNumber>(), some)
        let ours = time(Ours<NSNumber, NSNumber>(), some)
        report(count, "\(theirs.fixed(3)) s", ours, "× \((theirs / ours).fixed(0))")
    }
    let ours = time(Ours<NSNumber, NSNumber>(), keys)
    report(keys.count, "minutes", ours)
}
