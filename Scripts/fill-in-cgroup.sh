#!/usr/bin/env bash
# Fills every kind of cache with 2 GiB in a memory cgroup of 256 MiB, at full speed, and prints one line for each run:
# the tool's report, or KILLED. Needs root and a writable memory cgroup, version 1 or 2.
# Usage: Scripts/fill-in-cgroup.sh [LIMIT_MIB [INSERTED_MIB]]      KINDS, SIZES and THREADS may be set, too.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=$((${1:-256} << 20)) inserted=${2:-2048}
[ -n "${NO_BUILD:-}" ] || swift build -c release --product memory-fill >/dev/null
tool=$(swift build -c release --show-bin-path)/memory-fill

if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
    root=/sys/fs/cgroup/memory max=memory.limit_in_bytes swap=memory.memsw.limit_in_bytes none=$limit
elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
    root=/sys/fs/cgroup max=memory.max swap=memory.swap.max none=0
    echo +memory >$root/cgroup.subtree_control
else
    echo "no writable memory cgroup" >&2
    exit 77
fi
group=$root/memory-fill-$$
mkdir "$group"
trap 'for _ in 1 2 3 4 5; do rmdir "$group" 2>/dev/null && break; sleep 0.2; done' EXIT
echo "$limit" >"$group/$max"
echo "$none" >"$group/$swap" 2>/dev/null || true

for kind in ${KINDS:-dictionary foundation memory costs purgeable}; do
    for bytes in ${SIZES:-200 4096 65536}; do
        for threads in ${THREADS:-1 2}; do
            sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$tool" "$kind" "$bytes" "$inserted" "$threads" \
                2>/dev/null || echo "{\"kind\": \"$kind\", \"bytes\": $bytes, \"threads\": $threads, \"status\": \"KILLED ($?)\"}"
        done
    done
done
