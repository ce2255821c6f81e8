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
gpu_job 1 "$few" >few.json
TIMEOUT=3 gpu_job 1 "$few" >short.json

# --- nothing happens

gpu_run 0 clean job.json ""
is "$(exit_of clean)" 0 'seven instances of every inner loop and pipeline: complete'
is "$(ended clean | awk '{ print $2 }' | sort | uniq -c | awk '{ print $1 $2 }')" 7ok 'all are ok'
is "$(column clean exact_check | sort -u) $(column clean tolerance_check | sort -u)" 'passed passed' 'all are verified'
is "$(judged clean)" '0 1 2 3 4 5 6 7' 'on the device: its references, both comparisons, digests, signs, clock'
is "$(column clean arch | sort -u)" emu 'on the emulator'
is "$(column clean n_samples | sort -u)" 5 'every sample is there'
[ "$(column clean calls_per_sample | sort -n | head -n 1)" -gt 1 ]
tap_report $? 'short kernels are launched several times a sample'
is "$(column clean code_bytes | grep -c '^[1-9]')" 7 'what the code object says stands in the row'

gpu_run 0 again job.json ""
is "$(same_times again clean)" '' 'the same sweep gives the same times'

# --- one cell is struck

n_cells=4
struck launch "launch@1-:$here" launch_failed 701 'hipErrorLaunchOutOfResources' few.json
struck fault "fault@1-:$here" launch_failed 719 'hipErrorLaunchFailure \(719\)' few.json
struck hang "hang@1-:$here" timeout - 'deadline passed in phase exact' short.json

done_testing
