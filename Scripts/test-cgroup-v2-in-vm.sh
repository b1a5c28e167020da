#!/usr/bin/env bash
# Runs what needs cgroup version 2 on a machine that has version 1, or none: boots Debian's cloud kernel under QEMU with
# cgroup v2 alone and fills caches in a memory.max of 256 MiB and below a memory.high: alone, beside three bursts of a
# quarter, beside bursts that were announced, and with large values in flight.
#
# Needs: Debian's apt (nothing is installed: packages are downloaded and unpacked into a temporary directory, some
# 60 MB), the Swift toolchain, no root, no /dev/kvm. Without KVM expect some minutes. Not part of .ci/run.
# ACCELERATION=tcg,thread=multi does without KVM where there is one that does not work (inside another machine).
# Usage: Scripts/test-cgroup-v2-in-vm.sh        prints the machine's console; exit status 0 if all of it passed
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/tmp}/cgroup-v2-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "--- building"
swift build -c release --product memory-fill --static-swift-stdlib --scratch-path .build/vm >/dev/null
tool=$(swift build -c release --static-swift-stdlib --scratch-path .build/vm --show-bin-path)/memory-fill

echo "--- downloading"
kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2; exit}')
mkdir "$work/packages" "$work/unpacked"
(
    cd "$work/packages"
    # The emulator with every library that this machine has not, the kernel, a static shell.
    apt-get download -qq "$kernel" busybox-static
    command -v qemu-system-x86_64 >/dev/null || apt-get download -qq qemu-system-x86 qemu-system-common qemu-system-data \
        seabios ipxe-qemu $(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
            --no-replaces --no-enhances qemu-system-x86 | grep -E '^lib' | sort -u)
)
for package in "$work"/packages/*.deb; do dpkg -x "$package" "$work/unpacked"; done

echo "--- packing"
root=$work/root
mkdir -p "$root"/{bin,proc,sys,tmp,dev}
cp "$(find "$work/unpacked" -path '*/bin/busybox' -type f | head -1)" "$root/bin/busybox"
cp "$tool" "$root/bin/memory-fill"
# Its libraries, wherever this machine has them.
ldd "$tool" | awk '/=> \// {print $3} /^\t\// {print $1}' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "kernel $($b uname -r); controllers: $($b cat /sys/fs/cgroup/cgroup.controllers)"
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
failures=0
# run NAME MAX HIGH EXPECTED-TO-LIVE KIND BYTES MEBIBYTES THREADS
run() {
    name=$1 max=$2 high=$3 lives=$4; shift 4
    g=/sys/fs/cgroup/$name; $b mkdir $g; echo $max >$g/memory.max; echo $high >$g/memory.high
    if $b sh -c 'echo $$ >'$g'/cgroup.procs; exec /bin/memory-fill "$@"' fill "$@"; then alive=1; else alive=0; fi
    kills=$($b awk '/^oom_kill / {print $2}' $g/memory.events)
    echo "$name: $([ $alive = 1 ] && echo survived || echo killed), oom_kill $kills, $($b tr '\n' ' ' <$g/memory.events)"
    [ $alive = $lives ] || failures=$((failures + 1))
    $b rmdir $g
}
run dictionary 256M max 0 dictionary 4096 512 1
for kind in memory costs purgeable; do
    run $kind-4096 256M max 1 $kind 4096 512 1
    run $kind-65536 256M max 1 $kind 65536 512 2
done
for kind in memory costs nscache purgeable; do
    for bytes in 300 1000 4096 65536; do
        run $kind-$bytes-burst 256M max 1 $kind $bytes 384 1 burst=64
        run $kind-$bytes-announced 256M max 1 $kind $bytes 384 1 announced=102
    done
done
for bytes in 4194304 8388608; do
    run memory-$bytes-in-flight 256M max 1 memory $bytes 1024 8
    run costs-$bytes-in-flight 256M max 1 costs $bytes 1024 8
done
run memory-high max 256M 1 memory 4096 512 1
run purgeable-high max 256M 1 purgeable 4096 512 1
[ $failures = 0 ] && echo "VM: all passed" || echo "VM: $failures failed"
$b poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | "$root/bin/busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd.gz"

echo "--- booting"
emulator=$(command -v qemu-system-x86_64 || find "$work/unpacked" -name qemu-system-x86_64 | head -1)
libraries=$(find "$work/unpacked" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
acceleration=${ACCELERATION:-$([ -w /dev/kvm ] && echo kvm || echo tcg,thread=multi)}
data=()
for directory in "$work"/unpacked/usr/share/{qemu,seabios}; do [ -d "$directory" ] && data+=(-L "$directory"); done
LD_LIBRARY_PATH="$libraries" timeout "${SECONDS_ALLOWED:-1200}" "$emulator" "${data[@]}" -accel "$acceleration" -cpu max \
    -smp 2 -m 1536 -nographic -no-reboot -nic none -kernel "$(find "$work/unpacked/boot" -name 'vmlinuz*' | head -1)" \
    -initrd "$work/initrd.gz" -append "console=ttyS0 psi=1 quiet panic=-1 cgroup_no_v1=all" </dev/null | tee "$work/console"
grep -q "VM: all passed" "$work/console"
