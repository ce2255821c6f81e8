#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Rounds beyond the first: a sweep on the host, one that is stopped and one that is killed between visits.
# group: mpi
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1

# job BACKEND ROUNDS: the tiny sweep with these rounds
job() {
    sed -e "s#\"\.\./\.\./#\"$KSWEEP_SOURCE_DIR/#; s#\"tiny\.csv\"#\"$KSWEEP_SOURCE_DIR/tests/data/tiny.csv\"#" \
        -e "s#\"measure\":  {#\"device\": $1, \"measure\": { \"rounds\": $2,#" "$tiny_job"
}

column() { # FILE NAME: its values, one line per cell
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1"
}

# --- on the host

job '{ "backend": "host" }' '{ "max": 3, "gap_s": 0 }' >host.json
like "$(ksweep plan host.json --cache "$tiny_cache")" 'for visits, which measure contenders again' \
    'plan expects visits'
ok 'a sweep with visits' ksweep run host.json --out host --cache "$tiny_cache"
ok 'its files agree' ksweep check host
cp host/job.json before.json
is "$(field host pending) $(field host remaining) $(field host settled)" '0 0 3' 'nothing remains, all problems are settled'
ok 'its table' ksweep-analyze table host/results.h5 -o host.csv
is "$(column host.csv rounds_stop | grep -cxE 'alone|tied|regret|rounds')" "$(($(wc -l <host.csv) - 1))" \
    'it says why the visits of each problem ended'
is "$(column host.csv rounds_ci95_lo_ns | grep -c .)" 3 'the best instance of each problem has an interval'
is "$(column host.csv rounds_statistic | grep . | sort -u)" low 'labels on the host are low quantiles'
ok 'the old columns' ksweep-analyze table host/results.h5 --columns v1 -o v1.csv
unlike "$(head -n 1 v1.csv)" 'rounds_' 'do not have them'

job '{ "backend": "host" }' '{ "max": 3, "gap_s": 0, "alpha": 0.2 }' >promise.json
rc_is 2 'another alpha on resume is refused' ksweep run promise.json --out host --resume --cache "$tiny_cache"
like "$(cat "$tap_tmp/err")" 'measure.rounds.alpha: 0.05 -> 0.2' 'and named'
ok 'nothing was changed' cmp host/job.json before.json

# --- stopped, killed and resumed, in virtual time

sim='{ "backend": "sim", "arch": "seed=5,sleep_us=2500" }'
rounds='{ "max": 12, "gap_s": 0, "margin": 0, "alpha": 0.0001 }'
visits() { [ "$(field "$1" measurements)" -gt 0 ] 2>/dev/null; }

job "$sim" "$rounds" >sim.json
for how in TERM KILL; do
    ksweep run sim.json --out "sim$how" >"$how.out" 2>&1 &
    pid=$!
    ok "$how: visits begin" settles 20 visits "sim$how"
    kill -$how $pid
    wait $pid 2>/dev/null
    ok "$how: some races have not ended" test "$(field "sim$how" settled)" -lt 3
    [ $how = KILL ] || ok 'a drain cuts them' test "$(field "sim$how" cut)" -gt 0
    like "$(ksweep status "sim$how")" 'stopped, resumable' "$how: there is more to do"
    ok "$how: the sweep goes on" ksweep run sim.json --out "sim$how" --resume
    is "$(field "sim$how" settled) $(field "sim$how" cut) $(field "sim$how" remaining)" '3 0 0' "$how: and settles them"
    ok "$how: its files agree" ksweep check "sim$how"
done
ok 'the table of a simulated device' ksweep-analyze table simTERM/results.h5 -o sim.csv
is "$(grep -oE ',(median|low),' sim.csv | sort -u)" ',median,' 'its labels are medians'
done_testing
