#!/bin/bash
# SPDX-License-Identifier: MIT
# group: cgroup
# Each bad kernel stands in a batch with 19 good ones: it ends as one row with its own outcome, the
# others are ok and measured once, nothing survives.
. "$(dirname "$0")/tap.sh"

cage=$KSWEEP_SOURCE_DIR/tests/tools/caged.sh
rows="/usr/bin/python3 $KSWEEP_SOURCE_DIR/tests/tools/h5rows.py"
bash "$cage" true 2>/dev/null || skip_all "no pids cgroup to cage a fork bomb in"
/usr/bin/python3 -c 'import h5py' 2>/dev/null || skip_all "no python3-h5py"
export XDG_CACHE_HOME=$tap_tmp/cache

job() { # FAULT -> $tap_tmp/FAULT.json
    local seconds=10 # filling the memory cap takes its time on a busy machine
    case $1 in loop | sleep | stop | fork_endless) seconds=1 ;; esac
    cat >"$tap_tmp/$1.json" <<EOF
{ "name": "$1", "why": "one bad kernel among 19 good ones", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "(fault == 'good' and copy < 19) or fault == '$1'"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/small.csv"} ],
  "device": {"backend": "host"},
  "measure": {"warmup_ms": 0, "max_ms": 2, "max_samples": 10,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "isolate": {"kernel_timeout_s": $seconds, "memory_mib": 512} }
EOF
}

# What must hold for FAULT: outcome, code and a pattern for the reason of its row.
check() { # FAULT OUTCOME CODE
    local fault=$1 outcome=$2 code=$3 dir=$tap_tmp/$1.out
    job "$fault"
    bash "$cage" timeout 50 ksweep run "$tap_tmp/$fault.json" --out "$dir" \
        >"$tap_tmp/out" 2>"$tap_tmp/err"
    $rows "$dir/results.h5" measurements kernel_name outcome_text code attempt flags \
        >"$tap_tmp/$fault.rows" 2>>"$tap_tmp/err" || { tap_show_output; }
    is "$(grep -c "bad_good_.*	ok	" "$tap_tmp/$fault.rows")" 19 "$fault: the 19 others are ok"
    is "$(grep -v bad_good_ "$tap_tmp/$fault.rows" | cut -f 2,3 | sed 's/-2147483648/-/')" \
        "$(printf '%s\t%s' "$outcome" "$code")" "$fault: one row, $outcome $code"
    [ "$fault" = heap_overflow ] && return
    is "$($rows "$dir/results.h5" attempts kernel_name role | grep bad_good_ | grep -c '	0$')" 19 \
        "$fault: each of the others was measured once"
}

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
    $rows "$tap_tmp/$1.out/results.h5" measurements kernel_name v1 v2 max_error n_zero n_wrong |
        grep bad_good_ | sort
}
is "$(computed launch_fails | grep -c '	1	1	0\.')" 19 "19 good kernels alone have verified errors"
for fault in rounding_mode flush_to_zero; do
    is "$(computed $fault)" "$(computed launch_fails)" "$fault: the results of the others are the same"
done

# Evidence that goes with an outcome.
cell() { # FAULT [OPTION]: what ksweep cell says of its row
    local id
    id=$($rows "$tap_tmp/$1.out/results.h5" measurements kernel_name problem_id instance_id |
        grep -v bad_good_ | awk -F '\t' '{printf "%s:%s", $2, $3}')
    ksweep cell "$tap_tmp/$1.out" "$id" ${2-}
}
like "$(cell segfault)" 'fault at  0x' "a crash stores its fault address"
like "$(cell segfault)" 'phase     exact' "and its phase"
like "$(cell fork_endless)" 'denied    [0-9]+ system calls' "refused forks are recorded"
like "$(cell children_outlive)" 'denied    [0-9]+ system calls' "refused children are recorded"
like "$(cell kill_parent)" 'denied    [0-9]+ system calls' "a refused kill is recorded"
like "$(cell one_wrong)" '\[[0-9]+\] got .* want ' "a wrong result stores its mismatches"
like "$(cell one_wrong)" 'box  ' "and their bounding box"
like "$(cell heap_overflow)" 'heap_corruption' "the culprit of a heap overflow is named"
like "$(cell rounding_mode)" 'fp_env_changed' "a changed rounding mode is flagged"
like "$(cell malloc_endless)" 'peak (4[89][0-9]|5[01][0-9])' "the peak is at 95 % of the cap or more"
is "$(cell print_megabytes | wc -c | awk '{print ($1 > 60000)}')" 1 "the last 64 KiB printed are kept"
like "$(cell one_wrong --command)" 'ksweep-worker.* 3<' "a command that runs the bare worker"
like "$(bash -c "$(cell one_wrong --command)" 2>&1; echo "exit $?")" 'exit 0' "and it works"
like "$(XDG_CACHE_HOME=$tap_tmp/cache cell one_wrong --run)" 'wrong_result' \
    "the cell alone gives the same again"
like "$(cat "$tap_tmp/segfault.out/log")" 'ksweep cell .* --run' \
    "every failure line ends with the command that repeats it"

# Final failures stay until they are asked for.
n_before=$($rows "$tap_tmp/segfault.out/results.h5" attempts attempt | wc -l)
rc_is 1 "a resumed run is complete" ksweep run "$tap_tmp/segfault.json" --resume \
    --out "$tap_tmp/segfault.out"
is "$($rows "$tap_tmp/segfault.out/results.h5" attempts attempt | wc -l)" "$n_before" \
    "resume measures nothing again"
rc_is 1 "--retry crashed" ksweep run "$tap_tmp/segfault.json" --retry crashed \
    --out "$tap_tmp/segfault.out"
is "$($rows "$tap_tmp/segfault.out/results.h5" attempts kernel_name role | grep segfault |
    grep -c '	0$')" 4 "measures the crashed cell again, and only that"
done_testing
