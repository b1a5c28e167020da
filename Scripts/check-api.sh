#!/usr/bin/env bash
# What this tree changes in the public interface since the last release, by the compiler's own digester. Fails if
# something that users may rely on is gone or different.
# Usage: Scripts/check-api.sh [TAG]    the last tag by default
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [ -z "$tag" ]; then
    echo "no tag yet: there is no release whose interface could break"
    exit 0
fi
swift package diagnose-api-breaking-changes "$tag" \
    --products MemoryCaching --products FoundationCaching --products PurgeableMemory \
    --products MemoryPressure --products CacheSimulation --products TieredCaching \
    --products MemoryCachingTestKit
