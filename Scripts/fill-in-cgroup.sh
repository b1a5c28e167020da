#!/usr/bin/env bash
# Fills caches in a memory cgroup, at full speed, beside whatever else takes memory, and prints a table: how many runs
# were killed, the share of the limit that is readable when the cache is full, wrong bytes, insertions a second
# (medians). Needs root, python3 and a writable memory cgroup, version 1 or 2.
# Usage: Scripts/fill-in-cgroup.sh [LIMIT_MIB [INSERTED_MIB]]
# KINDS, SIZES, THREADS, SITUATIONS and RUNS may be set, too; ROWS=1 takes the rows of reserve at this limit instead:
# bursts, values in flight, pinned purgeable memory, page cache, sizes that change.
set -euo pipefail
cd "$(dirname "$0")/.."
mebibytes=${1:-256} limit=$((${1:-256} << 20)) inserted=${2:-2048}
[ -n "${NO_BUILD:-}" ] || swift build -c release --product memory-fill >/dev/null
tool=${TOOL:-$(swift build -c release --show-bin-path)/memory-fill}

. Scripts/memory-cgroup.sh
memory_cgroup memory-fill "$limit"

printf '%-10s %-16s %-7s %-14s %-9s %-7s %-6s %s\n' kind bytes threads situation killed share wrong insertions/s

# row KIND BYTES INSERTED_MIB THREADS SITUATION: RUNS runs, one line.
row() {
    local reports
    reports=$(for _ in $(seq "${RUNS:-1}"); do
        inside timeout "${SECONDS_ALLOWED:-120}" "$tool" "$@" 2>/dev/null || echo "{\"status\": $?}"
    done)
    printf '%s\n' "$reports" | python3 -c '
import json, statistics, sys
kind, size, _, threads, situation = sys.argv[1:]
reports = [json.loads(line) for line in sys.stdin]
lived = [report for report in reports if "share" in report]
late = sum(report.get("status") == 124 for report in reports)
middle = lambda name: statistics.median(report[name] for report in lived) if lived else 0
print("%-10s %-16s %-7s %-14s %-9s %-7.3f %-6d %d" % (
    kind, size, threads, situation,
    "%d of %d" % (len(reports) - len(lived) - late, len(reports)) + (", %d stuck" % late if late else ""),
    middle("share"), sum(report["wrong"] for report in lived), middle("insertionsPerSecond")), flush=True)
' "$1" "$2" "$3" "$4" "$5"
}

if [ -n "${ROWS:-}" ]; then
    quarter=$((mebibytes / 4))
    for kind in ${KINDS:-memory costs nscache purgeable}; do
        for bytes in ${SIZES:-300 1000 4096 65536}; do
            row "$kind" "$bytes" $((mebibytes * 3 / 2)) 1 "burst=$quarter"
            row "$kind" "$bytes" $((mebibytes * 3 / 2)) 1 "announced=$((mebibytes * 2 / 5))"
        done
    done
    for kind in memory costs; do
        for bytes in 4194304 8388608; do row $kind $bytes $((mebibytes * 8)) 8 alone; done
        for sizes in 200,1048576,200 200-1048576; do row $kind $sizes $((mebibytes * 3)) 2 alone; done
    done
    for bytes in 1024 4096 65536; do
        for pinned in 64 128 180; do row memory $bytes $((mebibytes * 2)) 2 "pinned=$((mebibytes * pinned / 256))"; done
        row memory $bytes $((mebibytes * 2)) 2 "file=$((mebibytes * 150 / 256))"
    done
    exit
fi
for kind in ${KINDS:-dictionary foundation memory costs nscache purgeable}; do
    for bytes in ${SIZES:-200 4096 65536}; do
        for threads in ${THREADS:-1 2}; do
            for situation in ${SITUATIONS:-alone}; do row "$kind" "$bytes" "$inserted" "$threads" "$situation"; done
        done
    done
done
