#!/usr/bin/env bash
# The documentation of every library can be made without a warning (a broken link, a parameter left out, a snippet that
# is not there), and no public symbol is without a comment.
# Usage: Scripts/check-documentation.sh   (needs Swift and python3)
set -euo pipefail
cd "$(dirname "$0")/.."
export CACHE_TOOLS=1

for target in MemoryPressure PurgeableMemory MemoryCaching FoundationCaching CacheSimulation TieredCaching; do
    swift package generate-documentation --target "$target" --warnings-as-errors
done

# DocC says nothing of symbols without a comment. What it read of them is left beside the build.
python3 - .build/*/extracted-symbols/*/*/*.symbols.json <<'PYTHON'
import json, sys

seen, bare = 0, []
for path in sys.argv[1:]:
    graph = json.load(open(path))
    for symbol in graph["symbols"]:
        # What the compiler derives, or another module brings, has no place in our sources.
        place = symbol.get("location", {}).get("uri", "")
        if "/Sources/" not in place or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        seen += 1
        if "docComment" not in symbol:
            bare.append(f'{place.split("/Sources/")[1]}: {".".join(symbol["pathComponents"])} has no comment')
print("\n".join(bare) or f"{seen} public symbols, each with a comment")
sys.exit(1 if bare or not seen else 0)
PYTHON
