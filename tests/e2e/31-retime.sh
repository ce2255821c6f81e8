#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep-analyze validate --write-retime and --retime: the job runs, measures picks and oracle only, and
# its times judge the picks. A simulated device, whose times follow from problem and instance.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
need_program ksweep ksweep-analyze make_journal
cd "$tap_tmp" || exit 1

list() { # FIRST LAST: problems
    echo operator,direction,dtype,layout,n,g,c_total,k_total,hi,wi,y,x,pad_h_lo,pad_w_lo,pad_h_hi,pad_w_hi
    for ((i = $1; i <= $2; i++)); do
        echo "grouped_conv,forward,fp32,nhwgc,1,1,$((16 * (1 + i % 7))),$((16 * (1 + i % 5))),$((8 + i)),$((8 + i)),3,3,1,1,1,1"
    done
}
sweep() { # NAME: of NAME.csv
    cat >"$1.json" <<JSON
{ "name": "$1", "why": "a simulated sweep", "operator": "grouped_conv",
  "kernels": [ { "config": "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json", "filter": "vector_bytes <= 32" } ],
  "problems": [ { "file": "$1.csv" } ],
  "device": { "backend": "sim", "arch": "seed=5,ns=20000" },
  "measure": { "warmup_ms": 0, "min_samples": 3, "max_samples": 5, "max_ms": 5 } }
JSON
    ksweep run "$1.json" --out "$1" --cache "$tiny_cache" >"$1.log" 2>&1
}

list 1 18 >known.csv
list 19 30 >unseen.csv
ok "a sweep to train on" sweep known
ok "a sweep of other problems" sweep unseen
ksweep-analyze train known/results.h5 -o m --rounds 4 --settings 1 --folds 3 --threads 1 --class-folds=no >/dev/null 2>&1
ok "a model" test -d m

# --- the job
ksweep-analyze validate m unseen/results.h5 --threads 1 --write-retime again >report 2>notes
ok "validate --write-retime" test $? -le 1
like "$(cat notes)" '^ksweep-analyze validate: again/job.json measures the [0-9]+ problems on which the model or the best baseline does not pick the oracle, with [0-9]+ instances' \
    "says what it will measure"
read -r problems instances < <(sed -n 's/.*measures the \([0-9]*\) problems.* with \([0-9]*\) instances.*/\1 \2/p' notes)
is "$(ls again | paste -sd' ')" "job.json kernels-0.json problems.csv" "a job, its problems, its kernels"
is "$(($(wc -l <again/problems.csv) - 1)) $(grep -c '"id"' again/kernels-0.json)" "$problems $instances" "so many of each"
like "$(ksweep plan again/job.json --cache "$tiny_cache" 2>&1)" "$((problems * instances)) cells" "a job that ksweep reads"
ksweep-analyze validate m unseen --threads 1 --write-retime again-dir >out 2>err
ok "validate --write-retime, given the run's directory" test $? -le 1
ok "writes the same job" diff -r again again-dir
rc_is 2 "an existing directory" ksweep-analyze validate m unseen/results.h5 --threads 1 --write-retime again
like "$(cat err)" "'again' already exists" "is not touched"

# --- its results
ok "the job runs" ksweep run again/job.json --out timed --cache "$tiny_cache"
baseline=$(sed -n "s/.* is '\(.*\)' with .*/\1/p; s/.*NO BENEFIT: the baseline '\(.*\)' is.*/\1/p" report)
for from in timed timed/results.h5; do
    ksweep-analyze validate m unseen/results.h5 --threads 1 --retime $from >judged 2>notes
    ok "validate --retime $from" test $? -le 1
    read -r timed same missing < <(sed -n 's/^re-timed: \([0-9]*\) problems; on \([0-9]*\) more .*; \([0-9]*\) without.*/\1 \2 \3/p' judged)
    is "$((timed + same)) $missing" "12 0" "every problem has both times"
    ok "no problem but those of the job" test "$timed" -le "$problems"
    like "$(cat judged)" '^picks are those among the instances measured for the problem \(not deployable\)$' "whose picks"
    like "$(cat judged)" '^model, by the new times: mean [01]\.[0-9]+ \[' "efficiency by times that neither was chosen by"
    like "$(cat judged)" "^$baseline, by the new times: mean [01]\.[0-9]+ \[" "beside the best baseline by the same times"
done
like "$(ksweep-analyze validate m unseen/results.h5 --threads 1 --retime timed --json 2>&1)" '"retimed": {' "as JSON, too"

# --- what is refused
rc_is 2 "the results themselves" ksweep-analyze validate m unseen/results.h5 --threads 1 --retime timed --retime unseen
like "$(cat err)" '--retime unseen: its times are those that chose the best: measure the job of --write-retime' "are named"
rc_is 2 "results of other problems" ksweep-analyze validate m unseen/results.h5 --threads 1 --retime known
like "$(cat err)" 'no problem has new times for both .*--write-retime' "says what to do"
make_journal other 12 8 5 0 3 0xc0ffee02 >/dev/null 2>&1 && ksweep gather other >/dev/null 2>&1
rc_is 2 "results of another device" ksweep-analyze validate m unseen/results.h5 --threads 1 --retime other
like "$(cat err)" 'other was measured ' "are named"
rc_is 2 "no such results" ksweep-analyze validate m unseen/results.h5 --threads 1 --retime absent
done_testing
