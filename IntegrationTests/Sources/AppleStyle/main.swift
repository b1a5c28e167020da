//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

func check(_ condition: Bool, _ what: String, line: UInt = #line) {
    guard !condition else { return }
    print("line \(line): \(what)")
    exit(EXIT_FAILURE)
}

let store = NetworkDataStore { Data("content of \($0.absoluteString)".utf8) }
let url = URL(string: "https://example.com/a")!
store.downloadData(for: url)
store.downloadData(for: url)
check(store.downloadCount == 1, "the second time is a hit")
store.purge(url)
store.downloadData(for: url)
check(store.downloadCount == 2, "purged data is downloaded again")
check(store.receivedByteCount == 3 * "content of https://example.com/a".utf8.count, "the data is whole")
for number in 0..<100 { store.downloadData(for: URL(string: "https://example.com/\(number)")!) }
store.downloadData(for: url)
check(store.downloadCount == 103, "the 101st URL pushed the first out")

let thumbnails = ThumbnailCache()
for name in ["a", "b", "c"] { thumbnails[name] = Thumbnail(name: name) }
_ = thumbnails["a"]
thumbnails["d"] = Thumbnail(name: "d")
check(thumbnails.evicted == ["b"], "the least recently used goes")
thumbnails["c"] = nil
check(thumbnails.evicted == ["b", "c"], "a removal is told about")
thumbnails["a"]?.endContentAccess()
thumbnails["a"]?.discardContentIfPossible()
check(thumbnails["a"]?.isContentDiscarded() == true, "kept though discarded, as the flag says")
check(thumbnails["a"]?.beginContentAccess() == true, "made anew")

let values = ValueCache<String, Int>(lifetime: 60, maximumEntryCount: 2)
values.insert(1, forKey: "one")
values.insert(2, forKey: "two")
values.insert(3, forKey: "three")
check(values.value(forKey: "one") == nil && values.value(forKey: "three") == 3, "two places")
values.removeValue(forKey: "two")
check(values.keys == ["three"], "the delegate keeps the keys in step")

let datas = NSCache<NSString, NSData>()
let idle = IdleDelegate()
datas.delegate = idle
check(datas.data(named: "x") { Data([1]) } == datas.data(named: "x") { Data([2]) }, "made once")
datas.removeAllObjects()
check(datas.object(forKey: "x") == nil, "removed")
print("unchanged sources: as on Apple's platforms")
