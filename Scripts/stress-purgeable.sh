#!/usr/bin/env bash
# Shows that purgeable memory never lies: in a memory cgroup of 64 MiB, pinners, optimistic readers, a writer, forks
# and a squeezer at work on 96 MiB of values, until 50 million accesses were verified and a million values purged.
# Then two controls, each without one of the checks, which have to find corruption: else the stress proves nothing.
# Needs root and a writable memory cgroup, version 1 or 2; two processors for some three minutes.
# Usage: Scripts/stress-purgeable.sh [VERIFIED [PURGED [SECONDS_AT_MOST]]]     NO_BUILD=1 takes the tool as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
verified=${1:-50000000} purged=${2:-1000000} seconds=${3:-600} limit=$((64 << 20))
# Optimised, because that is what users run: a check that only a debug build makes would be no check.
[ -n "${NO_BUILD:-}" ] || swift build -c release --product PurgeableStress >/dev/null
tool=$(swift build -c release --show-bin-path)/PurgeableStress

. Scripts/memory-cgroup.sh
memory_cgroup purgeable-stress "$limit"

failed=0
# expect NAME STATUS ARGUMENT…: runs the tool in the cgroup and holds it to its exit status.
expect() {
    local name=$1 wanted=$2 status=0
    shift 2
    echo "$name"
    inside "$tool" "$@" || status=$?
    if [ "$status" = "$wanted" ]; then echo "$name: as it has to be"; else
        echo "$name: FAILED, exit status $status instead of $wanted"
        failed=1
    fi
}
expect "stress" 0 --seconds "$seconds" --verified "$verified" --purged "$purged"
expect "control without the check of a pin" 1 --control pin --no-forks --seconds 3
expect "control without the check of a read" 1 --control optimistic --no-forks --seconds 3
exit $failed
