# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# faults.sh - sourced behind tap.sh: one bad kernel in a batch with 19 good ones.
#
#   check FAULT OUTCOME CODE   it ends as one row, the others are ok and measured once
#   cell FAULT [OPTION]        what ksweep cell says of its row
cage=$KSWEEP_SOURCE_DIR/tests/tools/caged.sh
bash "$cage" true 2>/dev/null || skip_all "no pids cgroup to cage a fork bomb in"
need_program h5rows
share_kernels

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

check() { # FAULT OUTCOME CODE
    local fault=$1 outcome=$2 code=$3 dir=$tap_tmp/$1.out
    job "$fault"
    bash "$cage" timeout 50 ksweep run "$tap_tmp/$fault.json" --out "$dir" \
        >"$tap_tmp/out" 2>"$tap_tmp/err"
    h5rows "$dir/results.h5" measurements kernel_name outcome_text status_code attempt outcome_flags problem_id instance_id \
        -- attempts kernel_name role >"$tap_tmp/$fault.tables" 2>>"$tap_tmp/err" || { tap_show_output; }
    sed '/^$/,$d' "$tap_tmp/$fault.tables" >"$tap_tmp/$fault.rows"
    is "$(grep -c "bad_good_.*	ok	" "$tap_tmp/$fault.rows")" 19 "$fault: the 19 others are ok"
    is "$(grep -v bad_good_ "$tap_tmp/$fault.rows" | cut -f 2,3 | sed 's/-2147483648/-/')" \
        "$(printf '%s\t%s' "$outcome" "$code")" "$fault: one row, $outcome $code"
    [ "$fault" = heap_overflow ] && return
    is "$(sed '1,/^$/d' "$tap_tmp/$fault.tables" | grep bad_good_ | grep -c '	0$')" 19 \
        "$fault: each of the others was measured once"
}

cell() { # FAULT [OPTION]: what ksweep cell says of its row
    local id
    id=$(grep -v bad_good_ "$tap_tmp/$1.rows" | awk -F '\t' '{printf "%s:%s", $6, $7}')
    ksweep cell "$tap_tmp/$1.out" "$id" ${2-}
}
