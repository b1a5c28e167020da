#!/usr/bin/env bash
# A package that uses only MemoryCaching fetches no other package and links no Foundation.
# Usage: Scripts/check-consumer.sh   (from anywhere; needs Swift and ldd)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A clone stands in for the published package, so that SwiftPM treats it as a dependency like any other.
git clone --quiet "$root" "$work/swift-memory-cache"
git -C "$work/swift-memory-cache" tag 0.0.1
mkdir -p "$work/consumer/Sources/consumer"
cat > "$work/consumer/Package.swift" <<SWIFT
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "consumer",
    dependencies: [.package(url: "file://$work/swift-memory-cache", exact: "0.0.1")],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [.product(name: "MemoryCaching", package: "swift-memory-cache")])
    ])
SWIFT
cat > "$work/consumer/Sources/consumer/main.swift" <<'SWIFT'
import MemoryCaching

let cache = MemoryCache<String, [UInt8]>(name: "thumbnails", totalCostLimit: 1 << 20)
cache.setValue([1, 2, 3], forKey: "a", cost: 3)
precondition(cache["a"] == [1, 2, 3] && cache["b"] == nil)
print("hits \(cache.statistics.hits), misses \(cache.statistics.misses)")
SWIFT
cd "$work/consumer"
swift build --quiet
./.build/debug/consumer

fetched=$(ls .build/checkouts)
if [ "$fetched" != "swift-memory-cache" ]; then
    echo "error: a consumer of MemoryCaching fetches more than the package itself:"
    echo "$fetched"
    exit 1
fi
if ldd .build/debug/consumer | grep -E 'Foundation'; then
    echo "error: a consumer of MemoryCaching links the libraries above"
    exit 1
fi
echo "a consumer of MemoryCaching fetches nothing else and links no Foundation"
