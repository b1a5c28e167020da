#!/usr/bin/env bash
# Type-checks every library for macOS 15 on ARM, on Linux, and the C headers for macOS, iOS, musl and aarch64 Linux.
#
# The stand-in for Apple's SDK: C headers out of the PyPI wheel `ziglang` (100 MB, downloaded, never committed), the
# standard library's textual interfaces of the installed toolchain with another target, and the few declarations in
# Scripts/darwin. It finds calls that are not there, wrong types and what needs a later macOS. It cannot link or run
# anything, knows no Objective-C and only a stub of Foundation.
# Usage: Scripts/check-darwin.sh [FOLDER]    FOLDER keeps the stand-in for the next time; .build/darwin by default
# Exits with 77 where the wheel cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:-.build/darwin}"
work=$(cd "${1:-.build/darwin}" && pwd)
sdk=$work/MacOSX15.0.sdk
headers=$work/include
target=arm64-apple-macos15.0
toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")
features=(ExistentialAny MemberImportVisibility InternalImportsByDefault NonisolatedNonsendingByDefault)

fetch_headers() {
    [ -d "$headers" ] && return
    python3 -m pip download --quiet --no-deps --dest "$work/wheel" ziglang ||
        { echo "SKIPPED: the PyPI wheel ziglang cannot be had"; exit 77; }
    python3 - "$work" <<'PYTHON'
import glob, os, sys, zipfile

work = sys.argv[1]
wanted = ["any-darwin-any", "generic-musl", "generic-glibc", "any-linux-any", "aarch64-linux-any", "aarch64-linux-gnu",
          "aarch64-linux-musl", "x86-linux-any", "x86-linux-gnu", "x86_64-linux-musl"]
place = "ziglang/lib/libc/include/"
wheel = zipfile.ZipFile(glob.glob(work + "/wheel/ziglang-*.whl")[0])
for name in wheel.namelist():
    if name.startswith(place) and name[len(place):].split("/")[0] in wanted and not name.endswith("/"):
        path = work + "/include.partial/" + name[len(place):]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(wheel.read(name))
os.rename(work + "/include.partial", work + "/include")
PYTHON
    rm -rf "$work/wheel"
}

# The C target: its headers and its two files.
check_headers() {
    local name=$1 triple=$2 flags=(-nostdlibinc) folder
    shift 2
    for folder in "$@"; do flags+=(-isystem "$headers/$folder"); done
    clang -target "$triple" -std=gnu11 -Wall -Werror -Wno-unused -fsyntax-only "${flags[@]}" \
        -ISources/CMemoryShims/include Sources/CMemoryShims/*.c
    echo "the C target compiles for $name"
}

# Interfaces of the toolchain's own modules, for another target. What Apple's modules lack or have later is taken out.
make_sdk() {
    local module folder header
    rm -rf "$sdk" "$work/cache" "$work/modules"
    mkdir -p "$sdk/usr/lib/swift/Darwin.swiftmodule" "$work/modules"
    cp -r "$headers/any-darwin-any" "$sdk/usr/include"
    for module in Swift SwiftOnoneSupport _Concurrency _StringProcessing Synchronization; do
        folder=$sdk/usr/lib/swift/$module.swiftmodule
        mkdir -p "$folder"
        sed -e "1,8s/-target x86_64-unknown-linux-gnu/-target $target/" -e '1,8s/-target-min-inlining-version min//' \
            -e '/^ *@backDeployed(/d' -e 's/macOS 1[0-4]\(\.[0-9]*\)*/macOS 15.0/g' \
            -e 's/_swift_stdlib_gettid()/UInt32(1)/' \
            -e 's/^import Glibc$/import Darwin/' -e 's/^@_exported import SwiftGlibc$/@_exported import Darwin/' \
            -e 's/_stdlib_remainderl(self, other)/fatalError()/' -e 's/_stdlib_squareRootl(self)/fatalError()/' \
            -e 's/self = fatalError()/fatalError()/' \
            "$toolchain/lib/swift/linux/$module.swiftmodule/x86_64-unknown-linux-gnu.swiftinterface" \
            >"$folder/arm64-apple-macos.swiftinterface"
    done
    {
        echo 'module Darwin [system] {'
        for header in errno fcntl math poll pthread signal spawn stdio stdlib string time unistd sys/mman sys/stat \
            sys/socket sys/un sys/sysctl mach/mach malloc/malloc; do echo "  header \"$header.h\""; done
        echo '  export *'
        echo '}'
    } >"$sdk/usr/include/module.modulemap"
    local common=(-parse-as-library -target "$target" -sdk "$sdk" -module-cache-path "$work/cache"
        -Xfrontend -disable-objc-interop)
    swiftc -emit-module -module-name Darwin -import-underlying-module "${common[@]}" \
        -o "$sdk/usr/lib/swift/Darwin.swiftmodule/arm64-apple-macos.swiftmodule" Scripts/darwin/DarwinOverlay.swift \
        2>"$work/overlay.log" || { cat "$work/overlay.log"; exit 1; }
    swiftc -emit-module -module-name Foundation "${common[@]}" \
        -o "$work/modules/Foundation.swiftmodule" Scripts/darwin/FoundationStub.swift 2>"$work/overlay.log" ||
        { cat "$work/overlay.log"; exit 1; }
}

check_module() {
    local module=$1 sources flags
    mapfile -t sources < <(find "Sources/$module" -name '*.swift')
    flags=(-target "$target" -sdk "$sdk" -module-cache-path "$work/cache" -Xfrontend -disable-objc-interop
        -swift-version 6 -package-name swift_memory_cache -module-name "$module" -parse-as-library -wmo
        -warnings-as-errors -suppress-remarks -I "$work/modules"
        -Xcc "-fmodule-map-file=$work/shims.modulemap" -Xcc "-I$PWD/Sources/CMemoryShims/include")
    for feature in "${features[@]}"; do flags+=(-enable-upcoming-feature "$feature"); done
    swiftc -emit-module -emit-module-path "$work/modules/$module.swiftmodule" "${flags[@]}" "${sources[@]}"
    echo "$module type-checks for $target"
}

fetch_headers
check_headers macOS arm64-apple-macos15 any-darwin-any
check_headers iOS arm64-apple-ios18 any-darwin-any
check_headers "aarch64 Linux" aarch64-unknown-linux-gnu aarch64-linux-gnu generic-glibc aarch64-linux-any any-linux-any
check_headers "aarch64 Linux, musl" aarch64-unknown-linux-musl aarch64-linux-musl generic-musl aarch64-linux-any \
    any-linux-any
check_headers "x86-64 Linux, musl" x86_64-unknown-linux-musl x86_64-linux-musl generic-musl x86-linux-any any-linux-any
make_sdk
printf 'module CMemoryShims {\n umbrella header "%s/Sources/CMemoryShims/include/CMemoryShims.h"\n export *\n}\n' "$PWD" \
    >"$work/shims.modulemap"
# From the ground up, as the manifest lists them.
for module in $(sed -n 's/^ *\.\{0,1\}.*target(name: "\([A-Z][A-Za-z]*\)".*/\1/p; s/^ *name: "\([A-Z][A-Za-z]*\)",$/\1/p' \
    Package.swift); do
    case $module in
    CMemoryShims | ValkeyCaching | *Tests | *Stress | *Support) continue ;;
    esac
    [ -d "Sources/$module" ] && check_module "$module"
done
echo "nothing of this has been linked or run"
