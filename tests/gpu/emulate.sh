#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# emulate.sh [BUILD_DIR] [SAMPLE] - every instance of the GPU families on the emulator, held to the
# reference (tests/unit/gpu_case.h): each family one test program, one after another. SAMPLE is a
# number of instances of each family instead of all. The build is build/, or build-asan/ for
# sanitized kernels. Then every break of tests/unit/test_gpu_breaks.c. Prints one line for each; ends
# with 1 when one failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-$root/build}/bin
sample=${2:-all}
log=$(mktemp)
bad=0
trap 'rm -f "$log"' EXIT
run() { # NAME PROGRAM
    if KSWEEP_GPU_SAMPLE=$sample "$bin/test_$2" >"$log" 2>&1; then
        echo "ok $1: $(sed -n 's/^# \(.* instances of\)/\1/p' "$log" | head -n 1)"
    else
        bad=1
        echo "not ok $1"
        sed 's/^/  /' "$log"
    fi
}
for family in fwd gemm bwd_data bwd_weight; do run "$family" "gpu_kernels_$family"; done
run breaks gpu_breaks
exit $bad
