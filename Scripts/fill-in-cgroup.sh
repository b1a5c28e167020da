#!/usr/bin/env bash
# Fills every kind of cache with 2 GiB in a memory cgroup of 256 MiB, at full speed, and prints one line for each run:
# the tool's report, or KILLED. Needs root and a writable memory cgroup, version 1 or 2.
# Usage: Scripts/fill-in-cgroup.sh [LIMIT_MIB [INSERTED_MIB]]      KINDS, SIZES and THREADS may be set, too.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=$((${1:-256} << 20)) inserted=${2:-2048}
[ -n "${NO_BUILD:-}" ] || swift build -c release --product memory-fill >/dev/null
tool=$(swift build -c release --show-bin-path)/memory-fill

. Scripts/memory-cgroup.sh
memory_cgroup memory-fill "$limit"

for kind in ${KINDS:-dictionary foundation memory costs purgeable}; do
    for bytes in ${SIZES:-200 4096 65536}; do
        for threads in ${THREADS:-1 2}; do
            inside "$tool" "$kind" "$bytes" "$inserted" "$threads" \
                2>/dev/null || echo "{\"kind\": \"$kind\", \"bytes\": \"$bytes\", \"threads\": $threads, \"status\": \"KILLED ($?)\"}"
        done
    done
done
