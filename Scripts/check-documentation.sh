#!/usr/bin/env bash
# The documentation of every library can be made without a warning (a broken link, a parameter left out, a snippet that
# is not there), no public symbol is without a comment, and Documentation/MemoryOrder.md names every file that uses a
# relaxed atomic, a fence or assembly. What is behind traits (all of ValkeyCaching) is read as text here, which takes no
# build; the lane `tiers` makes its documentation.
# Usage: Scripts/check-documentation.sh   (needs Swift and python3)
set -euo pipefail
cd "$(dirname "$0")/.."
export CACHE_TOOLS=1

unnamed=()
for file in $(grep -rlE 'relaxed|RELAXED|[fF]ence\(|__asm__' Sources --include='*.swift' --include='*.[ch]'); do
    grep -qF "${file##*/}" Documentation/MemoryOrder.md || unnamed+=("$file")
done
if ((${#unnamed[@]})); then printf '%s: not in Documentation/MemoryOrder.md\n' "${unnamed[@]}"; exit 1; fi

python3 - <<'PYTHON'
import glob, re, sys

bare, seen = [], 0
for path in glob.glob("Sources/[A-Z]*/**/*.swift", recursive=True):
    lines = open(path).read().split("\n")
    inherits = False
    for number, line in enumerate(lines):
        # Cases and requirements are public without saying so.
        if re.match(r"\S", line) and not re.match(r"[@#/})]", line):
            inherits = re.match(r"public (indirect )?(enum|protocol) ", line) is not None
        said = re.match(r"\s*(@\w+ )*(public|open)\s(?!import|extension)", line)
        if not said and not (inherits and re.match(r"    (@\w+ )*(case|func|var|init|static|nonisolated)\b", line)):
            continue
        seen += 1
        above = number - 1
        while re.match(r"\s*(@|#if|#endif|#else|//$|// )", lines[above]):
            above -= 1
        if not lines[above].lstrip().startswith("///"):
            bare.append(f"{path}:{number + 1} has no comment: {line.strip()}")
print("\n".join(bare) or f"{seen} public declarations, each with a comment, those behind traits too")
sys.exit(1 if bare or not seen else 0)
PYTHON

for target in MemoryPressure PurgeableMemory MemoryCaching FoundationCaching CacheSimulation TieredCaching \
    MemoryCachingTestKit; do
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
