# To be sourced: memory_cgroup NAME BYTES makes a memory cgroup below the root of version 1 or 2, without swap, whose
# path is then in $group and which goes when the script ends; inside RUN … runs a command in it. Exits with 77, having
# said why, where none can be made.

memory_cgroup() {
    local root max swap none
    if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
        root=/sys/fs/cgroup/memory max=memory.limit_in_bytes swap=memory.memsw.limit_in_bytes none=$2
    elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
        root=/sys/fs/cgroup max=memory.max swap=memory.swap.max none=0
        echo +memory >$root/cgroup.subtree_control || exit 77
    else
        echo "no writable memory cgroup" >&2
        exit 77
    fi
    group=$root/$1-$$
    mkdir "$group" || exit 77
    trap 'for _ in 1 2 3 4 5; do rmdir "$group" 2>/dev/null && break; sleep 0.2; done' EXIT
    echo "$2" >"$group/$max" || exit 77
    echo "$none" >"$group/$swap" 2>/dev/null || true
}

inside() { sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }
