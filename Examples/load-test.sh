#!/usr/bin/env bash
# Builds the server, loads it on loopback with and without its cache, and prints the figures of README.md.
# Usage: Examples/load-test.sh [SECONDS]    needs wrk and curl (apt-get install wrk curl)
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-10}
port=18080
swift build -c release --product tile-server
server=$(swift build -c release --show-bin-path)/tile-server
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true' EXIT

for option in --without-cache ""; do
    # shellcheck disable=SC2086
    "$server" --port $port $option &
    pid=$!
    until curl -sf "http://127.0.0.1:$port/" >/dev/null; do sleep 0.1; done
    printf '\n=== %s\n' "${option:-with the cache, from empty}"
    wrk -t1 -c32 -d"$seconds" --latency -s load.lua "http://127.0.0.1:$port"
    if [ -z "$option" ]; then
        printf '\n=== with the cache, warm\n'
        wrk -t1 -c32 -d"$seconds" --latency -s load.lua "http://127.0.0.1:$port"
        curl -s "http://127.0.0.1:$port/metrics" | grep -E '^cache_(hits|misses|loads|coalesced_loads)_total'
        curl -s "http://127.0.0.1:$port/debug/cache" | sed -n '/Responses, since the start/,/pre>$/p'
    fi
    grep VmRSS "/proc/$pid/status"
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    pid=
done
