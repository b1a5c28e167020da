#!/usr/bin/env bash
# A package that uses only MemoryCaching fetches no other package and links no Foundation: whether it names this one by
# URL, by path, below a folder of any name, or unpacked from an archive. And the products are the libraries alone.
# Usage: Scripts/check-consumer.sh   (from anywhere; needs Swift, git, python3 and ldd)
set -euo pipefail
unset CACHE_TOOLS CACHE_TEST_TARGETS
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "error: $1" >&2
    exit 1
}

# A package of one program, with this dependency.
consumer() {
    local folder=$1 dependency=$2
    mkdir -p "$folder/Sources/consumer"
    cat >"$folder/Package.swift" <<SWIFT
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [$dependency],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [.product(name: "MemoryCaching", package: "swift-memory-cache")])
    ])
SWIFT
    cat >"$folder/Sources/consumer/main.swift" <<'SWIFT'
import MemoryCaching

let cache = MemoryCache<String, [UInt8]>(name: "thumbnails", totalCostLimit: 1 << 20)
cache.setValue([1, 2, 3], forKey: "a", cost: 3)
precondition(cache["a"] == [1, 2, 3] && cache["b"] == nil)
print("hits \(cache.statistics.hits), misses \(cache.statistics.misses)")
SWIFT
}

# Resolves, and looks at what was fetched. SwiftPM fetches before it builds, so nothing needs to be built for this.
fetches_nothing_else() {
    local name=$1 folder=$2 fetched
    swift package --package-path "$folder" resolve >/dev/null 2>"$folder/log" || { cat "$folder/log"; fail "$name: no"; }
    fetched=$(ls "$folder/.build/checkouts" 2>/dev/null | grep -vx swift-memory-cache || true)
    [ -z "$fetched" ] || fail "a consumer $name fetches more than the package itself: $fetched"
    echo "a consumer $name fetches nothing else"
}

# A clone stands in for the published package, so that SwiftPM treats it as a dependency like any other.
git clone --quiet "$root" "$work/swift-memory-cache"
git -C "$work/swift-memory-cache" tag 0.0.1
consumer "$work/by-url" ".package(url: \"file://$work/swift-memory-cache\", exact: \"0.0.1\")"
fetches_nothing_else "by URL" "$work/by-url"
consumer "$work/by-path" ".package(path: \"$work/swift-memory-cache\")"
fetches_nothing_else "by path" "$work/by-path"
mkdir -p "$work/unpacked/swift-memory-cache"
git -C "$work/swift-memory-cache" archive HEAD | tar -x -C "$work/unpacked/swift-memory-cache"
consumer "$work/checkouts/by-archive" ".package(path: \"$work/unpacked/swift-memory-cache\")"
fetches_nothing_else "of an archive, below a folder “checkouts”" "$work/checkouts/by-archive"

# The tools are there for whoever asks for them, also below such a folder.
git clone --quiet "$root" "$work/checkouts/swift-memory-cache"
tools_of() {
    swift package --package-path "$1" dump-package | python3 -c '
import json, sys
for product in json.load(sys.stdin)["products"]:
    if "library" not in product["type"]: print(product["name"])'
}
[ -z "$(tools_of "$work/swift-memory-cache")" ] || fail "products that are no libraries"
CACHE_TOOLS=1 tools_of "$work/checkouts/swift-memory-cache" | grep -qx cache-demo ||
    fail "a clone below a folder “checkouts” has no cache-demo"
echo "the products are the libraries; with CACHE_TOOLS=1 the tools, too"

cd "$work/by-url"
swift build --quiet
./.build/debug/consumer
if ldd .build/debug/consumer | grep -E 'Foundation'; then fail "a consumer of MemoryCaching links the libraries above"; fi
echo "a consumer of MemoryCaching links no Foundation"
