#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/gpu/run.sh over the fake HIP runtime, of a device that is not well: it is counted, and told.
. "$(dirname "$0")/tap.sh"
need_program ksweep-gpu cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

mkdir in
filter="tile_n == 32"
for part in conformance verify_forward verify_backward_data verify_backward_weight peer sweep repeat; do
    case $part in sweep | repeat) problems=2 ;; *) problems=1 ;; esac
    gpu_job "$problems" "$filter" >"in/$part.json"
done
export KSWEEP_GPU_LIMIT=2400 KSWEEP_GPU_SHARE=0 # on a busy machine, behind an emulator
export KSWEEP_GPU_INPUTS=$tap_tmp/in KSWEEP_GPU_BACKEND=hip KSWEEP_GPU_CACHE=$tap_tmp/cache
export KSWEEP_GPU_BUILD=${KSWEEP_BIN%/bin}
unset KSWEEP_CUDNN
gpu=$KSWEEP_BIN/ksweep-gpu
run() { # STATUS WHAT DIR PART..
    local status=$1 what=$2 dir=$3
    shift 3
    rc_is "$status" "$what" env OUT="$tap_tmp/$dir" timeout 900 "$KSWEEP_SOURCE_DIR/tests/gpu/run.sh" "$@"
}

# --- a device that is not

here=block=64 # the judge has others

KSWEEP_FAKE_HIP=fault=wrong@1-:$here run 1 'wrong results' wrong verify
like "$(cat wrong/verify.txt)" '^wrong_result +[0-9]+  wrong on exact data' 'are counted, with the reason'
KSWEEP_FAKE_HIP=fault=abort@9:$here run 1 'workers that abort' abort sweep
like "$(cat abort/sweep.txt)" '^crashed +[0-9]+ ' 'cost the cell in hand'
is "$(tail -n +2 abort/sweep.csv | cut -d, -f3 | grep -cE '^(ok|crashed)$')" 8 'and no other'
KSWEEP_FAKE_HIP=fault=fault@9:$here,once=$tap_tmp/token run 1 'a device that faults' fault sweep
is "$(tail -n +2 fault/sweep.csv | cut -d, -f3 | sort | uniq -c | awk '{ print $2 "=" $1 }' | paste -sd ' ')" \
    'launch_failed=1 ok=7' 'one cell is launch_failed'
like "$(cat fault/sweep.txt)" 'exited, code 93' 'and a fresh worker goes on'
KSWEEP_FAKE_HIP=mem=4M run 1 'a device that is too small' small conformance
like "$(cat small/conformance.txt)" '^not ok 8 - alloc' 'does not keep the contract'

# --- a device that hangs: its time is not ours

TIMEOUT=2 gpu_job 2 "$filter" >in/hang.json
KSWEEP_FAKE_HIP=fault=hang@1:$here rc_is 1 'a kernel that never ends, and no time left then' \
    "$gpu" sweep in/hang.json --limit 1 --cache cache --out hang.csv
like "$(cat out)" '^timeout +1 ' 'is ended'
like "$(cat out)" '^no time was left for 7 of them$' 'and what was not measured is no pass'
is "$(tail -n +2 hang.csv | wc -l)" 8 'every cell has a row all the same'
done_testing
