#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# What strikes a kernel of a GPU once, whatever the process, is no word on it: its cell is measured again;
# what strikes it always is.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

n_cells=4
gpu_job 1 "$few" >job.json
TIMEOUT=3 gpu_job 1 "$few" >short.json

gpu_run 1 once short.json "fault=hang@2:$here,once=$tap_tmp/once"
is "$(exit_of once)" 0 'a kernel that hung once: complete, without failures'
is "$(attempts once | grep "$cell" | paste -sd ' ')" "$cell timeout $cell ok" 'its cell was measured again'
ok 'the fault did strike' test -e once.0
gpu_run 1 fault-once job.json "fault=fault@2:$here,once=$tap_tmp/once-fault"
is "$(exit_of fault-once)" 0 'a device that faulted once: complete, without failures'
is "$(attempts fault-once | grep "$cell" | paste -sd ' ')" "$cell launch_failed $cell ok" \
    'its cell was measured again'
is "$(attempts fault-once | wc -l)" 5 'and no other'

# --- one cell is struck, as in 80-fake-hip.sh

struck abort "abort@1-:$here" crashed 6 Abort
struck wrong "wrong@1-:$here" wrong_result - 'wrong on exact data'
struck skip "skip@1-:$here" wrong_result - 'wrong on exact data'
done_testing
