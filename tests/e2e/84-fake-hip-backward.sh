#!/bin/bash
# SPDX-License-Identifier: MIT
# Backward data and weight on a GPU without one: phases of a stride, helper kernels, the workspace
# of a split sum.
. "$(dirname "$0")/tap.sh"
need_program cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

backward() { # DIRECTION FILTER
    gpu_job 2 "$2" "$KSWEEP_SOURCE_DIR/kernels/configs/gpu_backward_$1.json" |
        sed "s|\.csv\"}|.csv\", \"directions\": [\"backward_$1\"]}|" >"$1.json"
    gpu_run 0 "$1" "$1.json" ""
    is "$(exit_of "$1")" 0 "backward $1: complete"
    is "$(column "$1" exact_check | sort -u) $(column "$1" tolerance_check | sort -u)" 'passed passed' "backward $1: all are verified"
    is "$(judged "$1")" '0 1 2 3 4 5 6 7' "backward $1: on the device"
}

bf16="dtype == 'bf16' and ndim == 2 and"
backward data "$bf16 tile_m == 64 and tile_n == 64 and warp_tile == 'simt' and pipeline in ['basic_v1', 'compv4']"
is "$(ended data | awk '{ print $2 }' | sort | uniq -c | awk '{ print $1 $2 }')" 4ok 'both problems on both instances'

# Two, eight and 32 parts are one device code, launched in three ways.
backward weight "$bf16 tile_m == 64 and tile_n == 64 and warp_tile == 'mfma16x16x16' and stages == 2 and merged_groups == 1 and memory_operation == 'set'"
is "$(ended weight | awk '{ print $2 }' | sort | uniq -c | awk '{ print $1 $2 }')" 6ok 'both problems in all parts, none an alias'
is "$(ended weight | grep -o '_sk[0-9]*' | sort -u | tr '\n' ' ')" '_sk2 _sk32 _sk8 ' 'in two, eight and 32 parts'
is "$(column weight code_bytes | sort -u | wc -l)" 1 'and one code'
like "$(grep -c 'kernel1' weight.log)" '^[1-9]' 'the helper was launched'

done_testing
