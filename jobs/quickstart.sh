#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quickstart.sh - from a fresh clone to measured training data with one command (Debian 12).
#
# Installs what is missing (as root, or by sudo where it asks nothing), builds, measures
# jobs/quickstart.json (without AVX-512: jobs/quickstart_avx2.json) with two ranks and prints what came
# out. The results are in build/quickstart.ksweep; an interrupted run continues, a finished one is replaced by a new one. Exit
# status 0: every cell has an outcome.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1

packages="cmake ninja-build gcc g++ pkg-config libopenmpi-dev openmpi-bin libhdf5-dev
    libhwloc-dev libcjson-dev zlib1g-dev libzstd-dev libxgboost-dev"
dir=$root/build/quickstart.ksweep
job=jobs/quickstart.json
grep -qw avx512f /proc/cpuinfo || job=jobs/quickstart_avx2.json

say() { printf '%s\n' "$*" >&2; }

missing_packages() {
    local p
    if ! command -v dpkg-query >/dev/null; then
        say "quickstart: this system is not Debian; docs/install.md lists the packages to install"
        return
    fi
    for p in $packages; do
        [ "$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null)" = "install ok installed" ] || echo "$p"
    done
}

install_packages() {
    local missing as_root=()
    missing=$(missing_packages | paste -sd ' ' -)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            say "quickstart: packages are missing; install them as root:"
            say "    apt-get update && apt-get install -y $missing"
            exit 2
        fi
    fi
    say "quickstart: installing $missing"
    # shellcheck disable=SC2086
    ${as_root[@]+"${as_root[@]}"} apt-get update -qq &&
        ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends $missing >&2 && return 0
    say "quickstart: apt-get failed; install these packages by hand: $missing"
    exit 2
}

build() {
    local log=$root/build/quickstart-build.log
    mkdir -p build
    say "quickstart: building (log: build/quickstart-build.log)"
    cmake --preset release >"$log" 2>&1 &&
        cmake --build build --target ksweep ksweep-worker ksweep-analyze >>"$log" 2>&1 && return 0
    tail -n 30 "$log" >&2
    say "quickstart: the build failed; the whole log is build/quickstart-build.log"
    exit 1
}

sweep() {
    local -a again=() few=()
    if [ -e "$dir" ]; then
        build/bin/ksweep status "$dir" --exit-code >/dev/null 2>&1
        case $? in
        0 | 1) rm -rf "$dir" ;;
        *) say "quickstart: continuing ${dir#"$root"/}"
           again=(--resume) ;;
        esac
    fi
    [ "$(nproc)" -lt 2 ] && few=(--oversubscribe)
    local -a run=(build/bin/ksweep run "$job" -n 2 --out "${dir#"$root"/}"
        ${few[@]+"${few[@]}"} ${again[@]+"${again[@]}"})
    say "quickstart: ${run[*]}"
    "${run[@]}"
}

install_packages
build
trap : INT TERM # the run gets them, too; it stops by itself and says how to go on
sweep >&2
rc=$?
if [ $rc -gt 1 ]; then
    say "quickstart: the sweep is not complete; run ./jobs/quickstart.sh again to continue it." \
        "To start from scratch: rm -r ${dir#"$root"/}"
    exit $rc
fi
build/bin/ksweep-analyze table "$dir/results.h5" -o "$dir/training.csv" || exit
build/bin/ksweep-analyze report "$dir/results.h5" || exit
echo
[ $rc -eq 1 ] && echo "complete, but some cells need a look (see the outcomes and contaminated cells above)"
echo "results:  ${dir#"$root"/}/results.h5"
echo "training: ${dir#"$root"/}/training.csv"
exit 0
