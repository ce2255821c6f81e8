#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kernels.sh [--build DIR] [--sample N] [host|gpu]... - every shipped kernel instance against its
# reference. tests/run.sh runs samples: of the host instances those that cover each value of each trait
# and each pair of pipeline, type, layout and dimensions (with sanitizers four per program), of the
# GPU instances a few on the emulator. This script runs all of them, and checks what only the whole
# can show: every shipped problem has a choice of instances, and no two of them are the same code.
#
#   --build DIR    the build tree (build); build-asan runs sanitized kernels: of the host ones those
#                  that cover every value of every trait
#   --sample N     N instances of each GPU family instead of all
#   host, gpu      only these programs; `gpu` also plants every fault of tests/unit/test_gpu_breaks.c
#
# Prints one line per program; exit status 1 when one failed. On two cores the host part of the release
# build takes about 5 minutes, the GPU part 20.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build sample=all parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --build | --sample)
        [ $# -ge 2 ] || { echo "kernels.sh: $1 needs a value" >&2; exit 2; }
        if [ "$1" = --build ]; then build=$2; else sample=$2; fi
        shift ;;
    host | gpu) parts+=("$1") ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "kernels.sh: unknown argument '$1'; see tests/kernels.sh --help" >&2; exit 2 ;;
    esac
    shift
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

run() { # PROGRAM
    local said
    if KSWEEP_SOURCE_DIR=$root KSWEEP_KERNEL_SAMPLE=$sample "$build/bin/test_$1" >"$log" 2>&1; then
        said=$(sed -n 's/^# \(.* instances of .*\)/: \1/p' "$log" | head -n 1)
        echo "ok $1$said"
    else
        failed=1
        echo "not ok $1"
        sed 's/^/  /' "$log"
    fi
}

[ ${#parts[@]} -gt 0 ] || parts=(host gpu)
for part in "${parts[@]}"; do
    case $part in
    host) programs="kernels kernels_bwd_data kernels_bwd_weight kernels_gemm" ;;
    gpu) programs="gpu_kernels_fwd gpu_kernels_gemm gpu_kernels_bwd_data gpu_kernels_bwd_weight
             gpu_breaks" ;;
    esac
    for program in $programs; do
        # gpu_breaks is not built with sanitizers
        [ -x "$build/bin/test_$program" ] && run "$program"
    done
done
exit $failed
