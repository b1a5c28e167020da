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
# Runs what makes a memory cgroup, and tells one that cannot be made (77) from a measurement that failed.
in_cgroup() {
    local status=0
    "$@" || status=$?
    case $status in
    0) ;;
    77) echo "left out: no writable memory cgroup" ;;
    *) echo "FAILED with status $status: $*" ;;
    esac
}

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
# A shell of its own: left of an "||" a subshell goes on after a failure, whatever `set -e` says.
in_cgroup bash -euc '. Scripts/memory-cgroup.sh; memory_cgroup hit-ratio $((256 << 20)); inside "$0" hit-ratio' \
    "$bench/purgeable-cache-bench"
part "what pressure costs an insertion and a hit"
"$own/memory-fill" overhead
part "filling a container of 256 MiB with 2 GiB"
in_cgroup env NO_BUILD=1 Scripts/fill-in-cgroup.sh 256 2048
if [ -n "${TRACES:-}" ]; then
    part "misses"
    # shellcheck disable=SC2086
    "$own/cache-sim" $TRACES --svg "$folder/misses.svg"
fi
part "the run under pressure"
NO_COLOR=1 "$own/cache-demo" --svg "$folder/cache-demo.svg"
