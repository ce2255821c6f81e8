#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# The whole way of a GPU without one: each fault of a kernel ends as the right outcome of one cell,
# all others are ok and measured once.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

gpu_job 1 True >job.json
TIMEOUT=3 gpu_job 1 True >short.json
cell=16x64x16_basic_v1_intrawave_wmma16x16x16_wn2
here=grid=7x1x1 # only this cell has so many blocks

# --- nothing happens

gpu_run 0 clean job.json ""
is "$(exit_of clean)" 0 'seven instances of every inner loop and pipeline: complete'
is "$(ended clean | awk '{ print $2 }' | sort | uniq -c | awk '{ print $1 $2 }')" 7ok 'all are ok'
is "$(column clean v1 | sort -u) $(column clean v2 | sort -u)" 'passed passed' 'all are verified'
is "$(column clean arch | sort -u)" emu 'on the emulator'
is "$(column clean n_samples | sort -u)" 10 'every sample is there'
[ "$(column clean calls_per_sample | sort -n | head -n 1)" -gt 1 ]
tap_report $? 'short kernels are launched several times a sample'
is "$(column clean code_bytes | grep -c '^[1-9]')" 7 'what the code object says stands in the row'

gpu_run 0 again job.json ""
is "$(column again instance_id) $(column again time_median_ns)" \
    "$(column clean instance_id) $(column clean time_median_ns)" 'the same sweep gives the same times'

# --- one cell is struck

struck() { # NAME FAULT OUTCOME CODE REASON [JOB]
    local dir=$1 fault=$2 outcome=$3 code=$4 reason=$5 job=${6-job.json}
    gpu_run 1 "$dir" "$job" "fault=$fault"
    is "$(exit_of "$dir")" 1 "$dir: complete, with failures"
    like "$(ended "$dir" | grep -v ' ok -$')" "^$cell $outcome $code\$" "$dir: one cell is $outcome"
    is "$(ended "$dir" | grep -c ' ok -$')" 6 "$dir: the others are ok"
    is "$(attempts "$dir" | grep -c ' ok$')" 6 "$dir: and measured once"
    like "$($h5rows "$dir/results.h5" measurements reason | grep .)" "$reason" "$dir: the reason is kept"
}

struck launch "launch@1-:$here" launch_failed 701 'hipErrorLaunchOutOfResources'
struck fault "fault@1-:$here" launch_failed '(0|719)' 'hipErrorLaunchFailure \(719\)'
struck hang "hang@1-:$here" timeout - 'deadline passed in phase exact' short.json
struck abort "abort@1-:$here" crashed 6 Abort
struck wrong "wrong@1-:$here" wrong_result - 'wrong on exact data'
struck skip "skip@1-:$here" wrong_result - 'wrong on exact data'

# --- what only the launches that are timed do: verification of the exact data has passed by then

timed=$(awk '$5 == "7x1x1"' clean.log | wc -l)
n_last=$(column clean instance_name | grep -n "$cell" | cut -d : -f 1)
n_last=$(column clean calls_per_sample | sed -n "${n_last}p")
struck timed-wrong "wrong@4-:$here" wrong_result - 'off by more than'
struck timed-skip "skip@$((timed - n_last + 1))-:$here" wrong_result - 'off by more than'

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
    paste -sd ';')" '6 0 10;1 1 9' 'it does not count'
is "$(column backwards time_min_ns | grep -c '^[1-9]')" 7 'no time is negative'

# --- what strikes once over all processes is measured again

gpu_run 1 once short.json "fault=hang@2:$here,once=$tap_tmp/once"
is "$(exit_of once)" 0 'a kernel that hung once: complete, without failures'
is "$(attempts once | grep "$cell" | paste -sd ' ')" "$cell timeout $cell ok" 'its cell was measured again'
ok 'the fault did strike' test -e once.0
gpu_run 1 fault-once job.json "fault=fault@2:$here,once=$tap_tmp/once-fault"
is "$(exit_of fault-once)" 0 'a device that faulted once: complete, without failures'
is "$(attempts fault-once | grep "$cell" | paste -sd ' ')" "$cell launch_failed $cell ok" \
    'its cell was measured again'
is "$(attempts fault-once | wc -l)" 8 'and no other'

done_testing
