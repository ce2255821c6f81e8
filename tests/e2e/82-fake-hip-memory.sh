#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# What strikes more than a kernel: memory and loads.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

# --- memory

gpu_job 1 'tile_m == 32' >one.json
gpu_job 2 'tile_m == 32' >two.json
gpu_run 1 one one.json devices=1
gpu_run 1 two two.json devices=1
allocated() { awk '$3 == "alloc" { print $4 }' "$1.log" | sort -u; }
bytes=$(comm -13 <(allocated one) <(allocated two) | head -n 1) # only the second problem wants it
gpu_run 1 unfit two.json "fault=oom@1-:bytes=$bytes-$bytes"
is "$(summary unfit)" '3 ok;3 out_of_memory' 'a problem that does not fit: all of its cells'
is "$(h5rows unfit/results.h5 measurements problem_id outcome_text | sort -u | wc -l)" 2 'and no others'
like "$(reasons unfit)" 'hipErrorOutOfMemory' 'and it is said why'

cat >parts.json <<EOT
{ "family": "$KSWEEP_SOURCE_DIR/kernels/gpu/gconv_bwd_weight.family.json", "why": "with a workspace and without",
  "instances": [ { "dtype": "bf16", "tile_m": 16, "tile_n": 32, "tile_k": 16, "thread_m": 2, "thread_n": 4 },
                 { "dtype": "bf16", "tile_m": 16, "tile_n": 32, "tile_k": 16, "thread_m": 2, "thread_n": 4,
                   "stages": 2, "split_k": [2, 4] } ] }
EOT
gpu_job 1 True parts.json | sed 's#problems.1.csv"#&, "directions": ["backward_weight"]#' >weight.json
gpu_run 1 weight weight.json devices=1
is "$(summary weight)" '3 ok' 'backward weight, with a workspace and without'
bytes=$(column weight workspace_bytes | sort -n | tail -n 1)
ok 'one has the largest' test "$(column weight workspace_bytes | grep -c "^$bytes\$")" -eq 1
gpu_run 1 workspace weight.json "fault=oom@1-:bytes=$bytes-$((bytes + 16384))"
is "$(summary workspace)" '2 ok;1 out_of_memory' 'a workspace that does not fit: one cell'
like "$(ended workspace)" '_sk4 out_of_memory' 'the one that has it'

# --- loads: an image of its own for each of two families

gpu_job 1 'tile_m == 64' | sed 's#"kernels": \[ #&{"config": "parts.json", "filter": "stages == 1"}, #
    s#problems.1.csv"#&, "directions": ["forward", "backward_weight"]#' >pair.json
gpu_run 1 loads pair.json devices=1
is "$(summary loads)" '2 ok' 'two families'
image=$(awk '$3 == "load" { print $4 }' loads.log | uniq | sed -n 2p)
gpu_run 1 load pair.json "fault=load@1-:image=$image"
is "$(summary load)" '1 load_failed;1 ok' 'an image that cannot be loaded: its cell'
like "$(reasons load)" 'hipErrorNoBinaryForGpu' 'and it is said why'

done_testing
