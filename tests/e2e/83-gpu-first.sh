#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/gpu/first_hour.sh over the fake HIP runtime: what is prepared is enough, few files come back, and
# a container that lacks what a worker wants is named and gone on with.
. "$(dirname "$0")/tap.sh"
need_program ksweep-gpu cc
. "$(dirname "$0")/fake-hip.sh"
. "$(dirname "$0")/gpu-parts.sh"
first=$KSWEEP_SOURCE_DIR/tests/gpu/first_hour.sh

# --- the plan

parts() { sed -n 's/^\([a-z]*\): at most .*/\1/p' out | paste -sd ' '; }
for n in 1 2 3 4; do
    rc_is 0 "call $n" env KSWEEP_FIRST_HOUR=none.tar "$first" "$n" --dry-run
    case $n in 1) want='build conformance verify' ;; 2) want='sweep repeat' ;; 3) want='gemm peer' ;; 4) want=faults ;; esac
    is "$(parts)" "$want" "call $n: its parts"
    like "$(cat out)" '^together at most [24][0-9][0-9] s of 480$' "call $n: fits into 8 minutes"
done
rc_is 0 'parts of my own' "$first" gemm:60 limits:50 --dry-run
is "$(cat out)" "gemm: at most 60 s, compiled there: run.sh gemm
limits: at most 50 s, compiled there: run.sh limits
together at most 110 s of 480" 'each with its limit'
rc_is 2 'another call' "$first" 5
rc_is 2 'a part without a limit' "$first" gemm:

# --- prepared here, run there

export KSWEEP_GPU_ARCH=emu
mkdir carried
rc_is 0 'prepare' env KSWEEP_FIRST_HOUR_GRIDS=sweep "$first" prepare carried
like "$(cat err)" 'KiB, kernels of: sweep repeat peer$' 'it says what it holds'
unset KSWEEP_GPU_ARCH KSWEEP_GPU_BUILD KSWEEP_GPU_BACKEND
rc_is 0 'sweep and repeat' env OUT="$tap_tmp/two" KSWEEP_FIRST_HOUR="$tap_tmp/carried/first-hour.tar" \
    TMPDIR="$tap_tmp" CC=false CMAKE=false "$first" 2
is "$(cd two && ls | paste -sd ' ')" \
    'first-hour.txt repeat.txt rows.tar.gz sweep.txt' 'few files come back'
is "$(tar -xOzf two/rows.tar.gz ./sweep.csv | tail -n +2 | cut -d, -f3 | sort | uniq -c | awk '{ print $1 $2 }')" \
    8ok 'with the kernels that were carried'
like "$(cat two/first-hour.txt)" '^repeat: exit 0 after [0-9]+ s of 205$' 'and what became of each part'
is "$(find . -maxdepth 1 -name 'tmp.*' | wc -l)" 0 'nothing else is left'

# --- a bare container

ok 'a container' cc -D_GNU_SOURCE -o bare "$KSWEEP_SOURCE_DIR/tests/tools/bare.c"
rc_is 1 'it is told apart' ./bare "$gpu" machine
is "$(sed -n 's/^WITHOUT \([^:]*\):.*/\1/p' out | paste -sd ';')" \
    'call filters (seccomp);sealed memory files;parent-death signals' 'by what it lacks'
rc_is 0 'this machine lacks nothing' "$gpu" machine
rc_is 3 'a sweep there' ./bare "$gpu" sweep in/conformance.grid --backend hip --arch emu --cache "$tiny_cache"
rc_is 0 'one that is to go on' env KSWEEP_GPU_BUILD="${KSWEEP_BIN%/bin}" KSWEEP_GPU_BACKEND=hip OUT="$tap_tmp/without" \
    ./bare "$KSWEEP_SOURCE_DIR/tests/gpu/run.sh" sweep
like "$(cat without/sweep.txt)" '^WITHOUT call filters' 'its report says so'
is "$(tail -n +2 without/sweep.csv | cut -d, -f3 | sort -u)" ok 'and every cell is ok'
done_testing
