#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/gpu/run.sh over the fake HIP runtime, of a device that is not well: it is counted, and told.
. "$(dirname "$0")/tap.sh"
need_program ksweep-gpu cc
. "$(dirname "$0")/fake-hip.sh"
. "$(dirname "$0")/gpu-parts.sh"

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
KSWEEP_FAKE_HIP=fault=wrong@1:$here run 1 'one wrong result' wrong1 conformance
like "$(cat wrong1/conformance.txt)" '^not ok [0-9]+ - output equal to the reference element ' 'is seen by conformance'
KSWEEP_FAKE_HIP=mem=4M run 1 'a device that is too small' small conformance
like "$(cat small/conformance.txt)" '^not ok [0-9]+ - alloc' 'does not keep the contract'

# --- a device that hangs: its time is not ours

TIMEOUT=2 gpu_job 2 "$filter" >hang.json
ok 'a grid' ksweep plan hang.json --export-grid in/hang.grid
KSWEEP_FAKE_HIP=fault=hang@1:$here rc_is 1 'a kernel that never ends, and no time left then' \
    "$gpu" sweep in/hang.grid --limit 1 --cache "$tiny_cache" --out hang.csv
like "$(cat out)" '^timeout +1 ' 'is ended'
like "$(cat out)" '^no time was left for 7 of them$' 'and what was not measured is no pass'
is "$(tail -n +2 hang.csv | wc -l)" 8 'every cell has a row all the same'
done_testing
