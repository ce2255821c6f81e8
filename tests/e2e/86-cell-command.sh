#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command that runs one cell of a GPU again, in a bare worker: on the device it ran on.
. "$(dirname "$0")/tap.sh"
need_program cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

gpu_job 1 'tile_n == 32' >job.json
ROCR_VISIBLE_DEVICES=1 gpu_run 0 "$tap_tmp/dir" job.json devices=2
cell=$(ksweep-analyze table dir/results.h5 -o - 2>/dev/null | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) { p = $i == "problem_id" ? i : p; k = $i == "instance_id" ? i : k; o = $i == "outcome" ? i : o } next }
    $o == "ok" { print $p ":" $k; exit }')
like "$cell" '^[0-9a-f]{16}:[0-9a-f]{16}$' 'a cell that ran on the second of two GPUs' || tap_note "$(head -n 3 dir.err)"
again() { KSWEEP_FAKE_HIP=devices=2,log=$tap_tmp/$1.log ksweep cell dir "$cell" --cache "$tiny_cache" "${@:2}"; }
devices() { awk '$3 == "launch" { print $2 }' "$1.log" 2>/dev/null | sort -u | paste -sd ' '; }

command=$(again probe --command)
like "$command" "^ROCR_VISIBLE_DEVICES=1 /.*ksweep-worker 3<" 'its command names that GPU'
(export KSWEEP_FAKE_HIP=devices=2,log=$tap_tmp/bare.log && bash -c "$command") >bare.out 2>&1
is "$? $(devices bare)" '0 1' 'runs, and there' || tap_note "$(tail -n 5 bare.out)"
tiny_cache=$tap_tmp/fresh again run --run >run.out 2>run.err
is "$(devices run)" 1 'so does --run'
is "$(judged bare); $(judged run)" '0 1 2 3 4 5 6 7; 0 1 2 3 4 5 6 7' 'both are verified there, also where nothing was built'

command=$(HIP_VISIBLE_DEVICES=1,0 again swapped --command)
like "$command" "^ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=0 /" "by the numbers of one's own lists"
command=$(ROCR_VISIBLE_DEVICES=0 again other --command)
like "$(head -n 1 <<<"$command")" '^# not the GPU it ran on: .*not one of the 1 .*\(ROCR_VISIBLE_DEVICES=0\)' \
    'where that one is not to be seen, a comment says so'
like "$command" "ROCR_VISIBLE_DEVICES=0 /" 'and the command takes another'
command=$(KSWEEP_HIP_LIBRARY=$tap_tmp/none.so again none --command)
like "$(head -n 1 <<<"$command")" '^# for a host with its GPU, which is not visible here: .*none.so' 'without any it is for another host'
done_testing
