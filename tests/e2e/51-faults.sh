#!/bin/bash
# SPDX-License-Identifier: MIT
# group: cgroup
# As 50-faults.sh: kernels that are wrong, write where they must not, or talk too much.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/faults.sh"

check close_fds worker_lost -
check garbage_record_fd worker_lost -
check print_megabytes ok -
check one_wrong wrong_result -
check unwritten_part wrong_result -
check read_outside wrong_result -
check write_before out_of_bounds -
check write_after out_of_bounds -
check nondeterministic nondeterministic -
check rounding_mode ok -
check flush_to_zero ok -
check launch_fails launch_failed 7
check heap_overflow crashed 0

# A changed floating-point environment reaches no neighbour: what the others computed is, error for
# error, what they compute beside one that computes nothing.
computed() { # FAULT
    h5rows "$tap_tmp/$1.out/results.h5" measurements kernel_name exact_check tolerance_check max_error n_zero n_wrong |
        grep bad_good_ | sort
}
is "$(computed launch_fails | grep -c '	1	1	0\.')" 19 "19 good kernels alone have verified errors"
for fault in rounding_mode flush_to_zero; do
    is "$(computed $fault)" "$(computed launch_fails)" "$fault: the results of the others are the same"
done

# Evidence that goes with an outcome.
like "$(cell one_wrong)" '\[[0-9]+\] got .* want ' "a wrong result stores its mismatches"
like "$(cell one_wrong)" 'box  ' "and their bounding box"
like "$(cell heap_overflow)" 'heap_corruption' "the culprit of a heap overflow is named"
like "$(cell rounding_mode)" 'fp_env_changed' "a changed rounding mode is flagged"
is "$(cell print_megabytes | wc -c | awk '{print ($1 > 60000)}')" 1 "the last 64 KiB printed are kept"
like "$(cell one_wrong --command)" 'ksweep-worker.* 3<' "a command that runs the bare worker"
like "$(bash -c "$(cell one_wrong --command)" 2>&1; echo "exit $?")" 'exit 0' "and it works"
like "$(cell one_wrong --run)" 'wrong_result' \
    "the cell alone gives the same again"
done_testing
