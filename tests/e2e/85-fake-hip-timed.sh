#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Faults of the launches that are timed, and of their times.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

n_cells=4
gpu_job 1 "$few" >job.json
gpu_run 0 clean job.json ""
is "$(exit_of clean)" 0 'without a fault: complete'

# --- what only the launches that are timed do: verification of the exact data has passed by then

struck timed-wrong "wrong@4-:$here" wrong_result - 'off by more than'
struck timed-skip "skip@4-:$here" wrong_result - 'off by more than'

# --- what is no failure

gpu_run 1 slow job.json "fault=slow@1-:$here"
is "$(exit_of slow)" 0 'a slow kernel is none'
ratio=$(paste <(column clean instance_name) <(column clean time_median_ns) |
    grep "$cell" | cut -f 2)
ratio=$(paste <(column slow instance_name) <(column slow time_median_ns) |
    awk -v was="$ratio" -v cell="$cell" 'index($1, cell) { print int($2 / was + 0.5) }')
is "$ratio" 50 'it is 50 times as slow'
gpu_run 1 backwards job.json "fault=backwards@6:$here"
is "$(exit_of backwards)" 0 'an event that goes backwards is a sample that failed'
is "$(paste <(column backwards instance_name) <(column backwards n_samples) |
    awk -v cell="$cell" '{ print (index($1, cell) ? 1 : 0), $2 }' | sort | uniq -c | awk '{ print $1, $2, $3 }' |
    paste -sd ';')" '3 0 5;1 1 5' 'it is taken again'
is "$(column backwards time_min_ns | grep -c '^[1-9]')" $n_cells 'no time is negative'

done_testing
