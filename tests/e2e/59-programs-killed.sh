#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Programs on many ranks, which are killed at random moments: no row of a finished run is lost or doubled.
#   RUNS=200 RANKS=8 KILLS=6 tests/e2e/59-programs-killed.sh     as issue 17 asks; by default a small one
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun python3
. "$(dirname "$0")/sweep.sh"
RUNS=${RUNS:-12} RANKS=${RANKS:-3} KILLS=${KILLS:-2} SEED=${SEED:-1}
ROWS=5
cd "$tap_tmp" || exit 1
export TMPDIR=$tap_tmp/tmp # killed ranks leave the directories of their programs there
mkdir "$TMPDIR"
head -n 1 "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" >list.csv
for ((i = 1; i <= RUNS; i++)); do
    echo "grouped_conv,forward,fp32,nhwgc,2,1,1,16,$((16 * i)),1,8,8,1,3,3,1,1,1,1,1,1,0,1,1,0,1,1,1,p$i" >>list.csv
done
cat >job.json <<END
{ "name": "killed", "operator": "grouped_conv",
  "kernels": [ { "program": "lines", "path": "$KSWEEP_SOURCE_DIR/tests/fake/profilers/timer.sh",
    "options": { "command": ["{program}", "good", "$ROWS", "0.2"], "output": "json",
      "fields": { "instance": "name", "time": "ms" }, "start": "^start (?<instance>.*)$" } } ],
  "problems": [ { "file": "list.csv" } ] }
END

# A rank, its warden, its ksweep-profiler or its program: whatever lives in this sweep.
n_killed=0
killed=''
kill_one() {
    local -a names=(ksweep ksweep-profiler timer.sh)
    local name=${names[$((RANDOM % 3))]} p
    local -a pids=()
    for p in $(pgrep -f "$name"); do
        { tr '\0' '\n' <"/proc/$p/environ" | grep -qx "KILLED_SWEEP=$tap_tmp"; } 2>/dev/null && pids+=("$p")
    done
    [ ${#pids[@]} -gt 0 ] && kill -KILL "${pids[$((RANDOM % ${#pids[@]}))]}" 2>/dev/null || return 1
    n_killed=$((n_killed + 1))
    killed="$killed $name"
}

RANDOM=$SEED
resume=''
export KILLED_SWEEP=$tap_tmp
for ((life = 1; life <= KILLS + 5; life++)); do
    # shellcheck disable=SC2086
    ranks "$RANKS" ksweep run job.json --out dir --lost-after 2s $resume >>out 2>>err &
    sweep=$!
    while [ "$n_killed" -lt "$KILLS" ] && kill -0 $sweep 2>/dev/null; do
        sleep "$(awk -v r=$RANDOM 'BEGIN { print 0.4 + r / 40000 }')"
        [ -e dir/output ] && kill_one # else nothing has run yet
    done
    wait $sweep
    [ -d dir ] && resume='--resume'
    [ "$(exit_of dir)" -le 1 ] && break
done
unset KILLED_SWEEP
tap_note "killed:$killed; $life lives"
[ "$n_killed" -ge 1 ] # a fast machine may be done before the next
tap_report $? 'processes were killed'
is "$(field dir done) $(field dir pending)" "$RUNS 0" 'every run has its end'
ok 'journal and results.h5 agree' ksweep check dir
ok 'the table' ksweep-analyze table dir/results.h5 -o table.csv
python3 - "$RUNS" "$ROWS" >counted <<'END'
import csv, sys
from collections import Counter
rows = [r for r in csv.DictReader(open("table.csv")) if r["instance_name"].startswith("Device")]
pairs = Counter((r["problem_id"], r["instance_id"]) for r in rows)
whole = Counter(p for p, _ in pairs)
bad = {r["problem_id"] for r in csv.DictReader(open("table.csv")) if r["outcome"] != "ok"}
print(max(pairs.values()), sum(1 for p, n in whole.items() if n != int(sys.argv[2]) and p not in bad),
      len(set(whole) | bad))
END
is "$(cat counted)" "1 0 $RUNS" 'no row is doubled, none of a finished run is lost'
is "$(find dir/output -name '*.part' | wc -l | awk -v k="$((KILLS * RANKS + RANKS))" '{ print ($1 <= k) }')" 1 \
    'only interrupted runs leave parts of outputs'
done_testing
