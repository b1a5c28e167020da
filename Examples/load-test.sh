#!/usr/bin/env bash
# Builds the server, loads it on loopback without its cache, with it, and while a neighbour takes memory from it, and
# prints the figures of README.md.
# Usage: Examples/load-test.sh [SECONDS [LIMIT_MIB [NEIGHBOUR_MIB]]]    needs wrk and curl (apt-get install wrk curl)
# Where it can make a memory cgroup (as root), server and neighbour share one; elsewhere the last run is left out.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-10}
limit=${2:-64}
neighbour=${3:-44}
port=18080
url=http://127.0.0.1:$port
swift build -c release --product tile-server
server=$(swift build -c release --show-bin-path)/tile-server
pid=
stop() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
    pid=
}
trap stop EXIT

start() { # WRAPPER… OPTIONS
    "$@" &
    pid=$!
    until curl -sf "$url/" >/dev/null; do sleep 0.1; done
}

load() { # TITLE
    printf '\n=== %s\n' "$1"
    wrk -t1 -c32 -d"$seconds" --latency -s load.lua "$url"
}

figures() {
    curl -s "$url/metrics" | grep -E '^cache_(hits|misses|loads|load_failures|coalesced_loads|fallbacks|purged)_total'
    curl -s "$url/debug/cache" | sed -n '/Responses, since the start/,/pre>$/p'
    grep VmRSS "/proc/$pid/status"
    grep LazyFree "/proc/$pid/smaps_rollup"
}

start "$server" --port $port --without-cache
load "--without-cache"
grep VmRSS "/proc/$pid/status"
stop

start "$server" --port $port
load "with the cache, from empty"
load "with the cache, warm"
figures
stop

. ../Scripts/memory-cgroup.sh
memory_cgroup tile-server $((limit << 20))
trap 'stop; for _ in 1 2 3 4 5; do rmdir "$group" 2>/dev/null && break; sleep 0.2; done' EXIT
# Not by `inside`, whose process would be a shell between.
start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$server" --port $port
load "in $limit MiB, from empty"
load "in $limit MiB, warm"
figures
# It holds what it has read until its input ends, because there is no line in it.
inside sh -c "(head -c ${neighbour}M /dev/zero; sleep $((seconds + 1))) | tail -n 1 >/dev/null" &
taker=$!
load "in $limit MiB, of which a neighbour takes $neighbour"
figures
wait $taker && echo "The neighbour got its memory."
