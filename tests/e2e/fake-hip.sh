# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# fake-hip.sh - sourced behind tap.sh: sweeps over the HIP runtime of tests/fake/hip.
#
#   gpu_job PROBLEMS FILTER [CONFIG]   a job for the emulator, on stdout: the first PROBLEMS of
#                             jobs/problems/emulator.csv, the instances that FILTER leaves
#   gpu_run RANKS DIR JOB CONFIG ARG...   the sweep under mpirun, RANKS 0 = without;
#                             KSWEEP_FAKE_HIP is log=DIR.log and CONFIG
#   ended DIR                 name, outcome and code of each cell, sorted
#   attempts DIR              name and outcome of each attempt that is no anchor's, in their order
#   reasons DIR               of its cells that have one
#   column DIR NAME           a column of the table, a line for each cell
#   same_times DIR DIR        nothing, where the two have the same cells and their times differ by 2 % at
#                             most: launches spread by 1 %, and the stop rules look at the real clock
#   summary DIR               how many of each outcome: "7 ok;1 timeout"
#   judged DIR                the tasks of kernels/judge.h that its workers had the device do
#   $cell, $here             one of the seven cells of `gpu_job 1 True`; the filter of its launches in a
#                             fault: only it has so many blocks, and the judge blocks of 256
#   $few                      a filter that leaves four of the seven, $cell among them
#   struck NAME FAULT OUTCOME CODE REASON [JOB]   a sweep of $n_cells (seven) cells, where only $cell ends so
. "$KSWEEP_SOURCE_DIR/tests/e2e/sweep.sh"
library=$(dirname "$KSWEEP_BIN")/lib/libamdhip64.so.6
[ -e "$library" ] || skip_all "no $library: ninja fake_hip"
need_program h5rows
unset ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
export KSWEEP_HIP_LIBRARY=$library
cell=16x64x16_basic_v1_intrawave_wmma16x16x16_wn2
here=grid=7x1x1:block=64
few='tile_m == 32 or tile_n == 64'
n_cells=7

gpu_job() {
    local config=${3-$KSWEEP_SOURCE_DIR/kernels/configs/gpu_forward_small.json}
    local list=$tap_tmp/problems.$1.csv
    head -n $(($1 + 1)) "$KSWEEP_SOURCE_DIR/jobs/problems/emulator.csv" >"$list"
    cat <<EOT
{ "name": "fake", "why": "a GPU without one", "operator": "grouped_conv",
  "kernels": [ {"config": "$config", "filter": "$2"} ], "problems": [ {"file": "$list"} ],
  "device": {"backend": "hip", "arch": "emu"},
  "measure": {"warmup_ms": 0, "min_samples": 3, "max_samples": 5, "max_ms": 5, "target_rse": 0,
              "alias_control": 1,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
  "isolate": {"kernel_timeout_s": ${TIMEOUT-20}} }
EOT
}

gpu_run() {
    local n=$1 dir=$2 job=$3 config=$4
    local -a run=(ksweep run "$job" --out "$dir" --cache "$tiny_cache")
    shift 4
    [ "$n" -gt 0 ] && run=(ranks "$n" "${run[@]}")
    KSWEEP_FAKE_HIP=log=$tap_tmp/${dir##*/}.log${config:+,$config} MPIRUN="timeout 100 mpirun" \
        "${run[@]}" "$@" >"$dir.out" 2>"$dir.err"
    [ -e "$dir/results.h5" ] || tap_note "$(tail -n 20 "$dir.err")"
}

short() { sed 's/^grouped_conv_\([a-z_]*\)_\(bf16\|fp32\)_2d_//'; }
rows() { # DIR: its cells, an empty line, its attempts; read once for each sweep
    [ "$1.rows" -nt "$1/results.h5" ] ||
        h5rows "$1/results.h5" measurements kernel_name outcome_text status_code reason -- \
            attempts kernel_name outcome_text role >"$1.rows" 2>&1
    cat "$1.rows"
}
ended() { rows "$1" | awk -F '\t' 'NF == 0 { exit } { print $1, $2, $3 }' | short | sed 's/-2147483648/-/' | sort; }
reasons() { rows "$1" | awk -F '\t' 'NF == 0 { exit } $4 != "" { print $4 }'; }
summary() { ended "$1" | awk '{ print $2 }' | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd ';'; }
attempts() { rows "$1" | awk -F '\t' 'on && $3 == 0 { print $1, $2 } NF == 0 { on = 1 }' | short; }
column() {
    ksweep-analyze table "$1/results.h5" -o "$1.csv" 2>"$1.table" || tap_note "$(cat "$1.table")"
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } !at { print "no column " name; exit } { print $at }' "$1.csv"
}
same_times() {
    paste <(column "$1" instance_id) <(column "$1" time_median_ns) \
        <(column "$2" instance_id) <(column "$2" time_median_ns) |
        awk '{ d = $2 / ($4 + 1e-9) - 1 } $1 != $3 || d * d > 0.0004 { print } END { if (NR == 0) print "no rows" }'
}
judged() { awk '$3 == "launch" && $6 == 256 { sub(/.*_kernel/, "", $4); print $4 }' "$1.log" | sort -u | paste -sd ' '; }
struck() {
    local dir=$1 fault=$2 outcome=$3 code=$4 reason=$5 job=${6-job.json}
    gpu_run 1 "$dir" "$job" "fault=$fault"
    is "$(exit_of "$dir")" 1 "$dir: complete, with failures"
    like "$(ended "$dir" | grep -v ' ok -$')" "^$cell $outcome $code\$" "$dir: one cell is $outcome"
    is "$(ended "$dir" | grep -c ' ok -$')" $((n_cells - 1)) "$dir: the others are ok"
    is "$(attempts "$dir" | grep -c ' ok$')" $((n_cells - 1)) "$dir: and measured once"
    like "$(reasons "$dir")" "$reason" "$dir: the reason is kept"
}
