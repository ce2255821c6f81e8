#!/bin/bash
# SPDX-License-Identifier: MIT
# group: cgroup
# Each bad kernel stands in a batch with 19 good ones: it ends as one row with its own outcome, the
# others are ok and measured once, nothing survives. Here: kernels that die, hang, fork and fill
# memory; 51-faults.sh: those that compute or say what is wrong.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/faults.sh"

check segfault crashed 11
check stack_overflow crashed 11
check abort crashed 6
check exit0 exited 0
check exit3 exited 3
check loop timeout -
check sleep timeout -
check stop timeout -
check fork_endless timeout -
check malloc_endless out_of_memory -
check malloc_segv out_of_memory -
check children_outlive ok -
check kill_parent ok -

# Evidence that goes with an outcome.
like "$(cell segfault)" 'fault at  0x' "a crash stores its fault address"
like "$(cell segfault)" 'phase     exact' "and its phase"
like "$(cell fork_endless)" 'denied    [0-9]+ system calls' "refused forks are recorded"
like "$(cell children_outlive)" 'denied    [0-9]+ system calls' "refused children are recorded"
like "$(cell kill_parent)" 'denied    [0-9]+ system calls' "a refused kill is recorded"
like "$(cell malloc_endless)" 'peak (4[89][0-9]|5[01][0-9])' "the peak is at 95 % of the cap or more"
like "$(cat "$tap_tmp/segfault.out/log")" 'ksweep cell .* --run' \
    "every failure line ends with the command that repeats it"

# Final failures stay until they are asked for.
n_before=$(h5rows "$tap_tmp/segfault.out/results.h5" attempts attempt | wc -l)
rc_is 1 "a resumed run is complete" ksweep run "$tap_tmp/segfault.json" --resume \
    --out "$tap_tmp/segfault.out"
is "$(h5rows "$tap_tmp/segfault.out/results.h5" attempts attempt | wc -l)" "$n_before" \
    "resume measures nothing again"
rc_is 1 "--retry crashed" ksweep run "$tap_tmp/segfault.json" --retry crashed \
    --out "$tap_tmp/segfault.out"
is "$(h5rows "$tap_tmp/segfault.out/results.h5" attempts kernel_name role | grep segfault |
    grep -c '	0$')" 4 "measures the crashed cell again, and only that"
done_testing
