#!/usr/bin/env bash
# Measures every figure of the README on this machine and prints them with the date and the machine.
# Usage: Scripts/figures.sh [FOLDER]      where the charts go: Documentation by default
# TRACES="FILE …" may name logs of requests for the miss ratios (any format that cache-sim reads).
# Keep the machine quiet: some ten minutes on two cores once all is built. What needs a writable memory cgroup, or Java,
# is left out with a line where there is none.
set -euo pipefail
export CACHE_TOOLS=1
cd "$(dirname "$0")/.."
folder=$(realpath "${1:-Documentation}")
mkdir -p "$folder"

echo "== $(date -u '+%d %B %Y, %H:%M UTC'); $(uname -sr), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
swift --version 2>&1 | head -1
swift build -c release >/dev/null
swift build -c release --package-path Benchmarks >/dev/null
own=$(swift build -c release --show-bin-path)
bench=$(swift build -c release --package-path Benchmarks --show-bin-path)

part() { printf '\n== %s\n' "$*"; }

part "throughput, and bytes an entry"
"$bench/cache-bench" --threads 1 --threads 2 --svg "$folder/throughput.svg"
part "NSCache"
"$bench/nscache-bench"
part "loading"
"$bench/loading-bench"
part "purgeable bytes"
"$bench/purgeable-bytes-bench" || echo "some figures are missed"
part "purgeable cache"
"$bench/purgeable-cache-bench" hits
(
    . Scripts/memory-cgroup.sh
    memory_cgroup hit-ratio $((256 << 20))
    inside "$bench/purgeable-cache-bench" hit-ratio
) || echo "left out: no writable memory cgroup"
part "what pressure costs an insertion and a hit"
"$own/memory-fill" overhead
part "filling a container of 256 MiB with 2 GiB"
NO_BUILD=1 Scripts/fill-in-cgroup.sh 256 2048 || echo "left out: no writable memory cgroup"
if [ -n "${TRACES:-}" ]; then
    part "misses"
    # shellcheck disable=SC2086
    "$own/cache-sim" $TRACES --svg "$folder/misses.svg"
fi
part "the run under pressure"
NO_COLOR=1 "$own/cache-demo" --svg "$folder/cache-demo.svg"
