#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# emulate.sh [BUILD_DIR] [SAMPLE] - every instance of the GPU families on the emulator, held to the
# reference (tests/unit/gpu_case.h): each family one test program, one after another. SAMPLE is a
# number of instances of each family instead of all. The build is build/, or build-asan/ for
# sanitized kernels. Prints one line for each family; ends with 1 when one failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-$root/build}/bin
log=$(mktemp)
bad=0
trap 'rm -f "$log"' EXIT
for family in fwd gemm bwd_data bwd_weight; do
    if KSWEEP_GPU_SAMPLE=${2:-all} "$bin/test_gpu_kernels_$family" >"$log" 2>&1; then
        echo "ok $family: $(sed -n 's/^# \(.* instances of\)/\1/p' "$log" | head -n 1)"
    else
        bad=1
        echo "not ok $family"
        sed 's/^/  /' "$log"
    fi
done
exit $bad
