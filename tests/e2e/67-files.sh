#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A run of many ranks is a handful of files, its log does not grow with the sweep, and its status is
# cheap.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc make_journal
. "$(dirname "$0")/sweep.sh"

job() { # NAME BACKEND FILTER PROBLEMS
    cat >"$tap_tmp/$1.json" <<EOF
{ "name": "$1", "why": "files and lines", "operator": "grouped_conv",
  "kernels": [ {"config": "$tap_tmp/copies.json", "filter": "$3"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv", "sample": $4, "seed": 1} ],
  "device": {$2},
  "measure": {"warmup_ms": 0, "max_ms": 2, "min_samples": 5, "max_samples": 5,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "verify": {"exact": false, "elementwise": false} }
EOF
}
cat >"$tap_tmp/copies.json" <<EOF
{ "family": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.family.json", "why": "copies",
  "instances": [ { "fault": ["good", "launch_fails"], "copy": [$(seq -s , 0 39)] } ] }
EOF
files() { (cd "$1" && find . -type f | sort | paste -sd ' '); }

# --- ranks
job sim '"backend": "sim", "arch": "seed=1,ns=20000,sleep_us=500"' "fault == 'good'" 50
for n in 2 24; do
    TINY_JOB=$tap_tmp/sim.json tiny $n "$tap_tmp/ranks$n" --lost-after 120s \
        >"$tap_tmp/out" 2>"$tap_tmp/ranks$n.err"
    is "$(exit_of "$tap_tmp/ranks$n")" 0 "$n ranks: complete"
    is "$(files "$tap_tmp/ranks$n")" \
        './job.json ./journal/0001.ksj ./log ./progress ./results.h5 ./status.json' "$n ranks: six files"
done
lines() { wc -l <"$tap_tmp/ranks$1/log"; }
tap_note "lines of the log: $(lines 2) with 2 ranks, $(lines 24) with 24"
is $(($(lines 24) <= $(lines 2) + 24)) 1 'a line for a rank at most'
size() { stat -c %s "$tap_tmp/ranks$1/journal/0001.ksj"; }
tap_note "bytes of the journal: $(size 2) with 2 ranks, $(size 24) with 24"
is $(($(size 24) < $(size 2) + 24 * 16384 + 1000000)) 1 'and some KB of the journal'

# --- failures: 1,200 cells, some attempts each
job fail '"backend": "host"' "fault == 'launch_fails' and copy < 24" 50
TINY_JOB=$tap_tmp/fail.json tiny 0 "$tap_tmp/fail" >"$tap_tmp/out" 2>"$tap_tmp/err"
is "$(exit_of "$tap_tmp/fail")" 1 'failures: complete'
is "$(ksweep status "$tap_tmp/fail" | awk '$1 == "launch_failed" { print $2 }')" 1200 \
    'failures: all of them are known'
n=$(grep -c "launch_failed in.* --run\$" "$tap_tmp/fail/log")
is $((n >= 1000 && n <= 1002)) 1 "failures: $n lines of the log"
like "$(cat "$tap_tmp/fail/log")" '1000 failures so far; from now on only one in 1000' \
    'failures: it says so'

# --- status of a large journal: what it holds of a cell
make_journal "$tap_tmp/large" 250 400 5
start=$(date +%s%N)
(ulimit -v 150000 && exec ksweep status "$tap_tmp/large") >"$tap_tmp/out" 2>"$tap_tmp/err"
tap_note "status of 100,000 records: $((($(date +%s%N) - start) / 1000000)) ms"
like "$(cat "$tap_tmp/out")" 'cells +100000 of 100000' 'status of 100,000 cells in 150 MB of address space'
done_testing
