#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# asan: yes
# ksweep-analyze oracle and compare, of made-up journals: what they print, refuse and end with.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal
cd "$tap_tmp" || exit 1

column() { # FILE NAME: its values, one a line
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1"
}

# Seeds of the same problems. The aliases of g are no code of their representatives: they differ in time.
for run in 'a 1 0' 'b 43 0' 'c 57 0' 'd 22 0.5' 'e 78 0.5' 'g 15 0'; do
    read -r dir seed slower <<<"$run"
    make_journal "$dir" 8 12 15 0 "$seed" 0 "$slower" && ksweep gather "$dir" >/dev/null ||
        tap_report 1 "made-up run $dir"
done

# --- oracle
rc_is 0 "oracle of one run" ksweep-analyze oracle a
like "$(cat out)" '^8 problems, .* 1 sweep; label: median of the rounds. 10 % quantiles' "counts and the label's statistic"
like "$(cat out)" 'only one sweep: .* assumed' "says that one run does not know what differs between runs"
rc_is 0 "oracle of three" ksweep-analyze oracle a b/results.h5 c --format csv -o oracle.csv
is "$(column oracle.csv is_label | grep -c 1)" 8 "one label for each problem"
is "$(column oracle.csv chance_best | awk '{ s += $1 } END { print (s > 7.9 && s < 8.1) }')" 1 "chances of a problem add up to 1"
is "$(column oracle.csv chance_near_best | awk '$1 < 0 || $1 > 1.000001' | wc -l)" 0 "chances are chances"
is "$(paste -d, <(column oracle.csv chance_best) <(column oracle.csv chance_near_best) | awk -F, '$1 > $2 + 1e-6' | wc -l)" 0 \
    "the best is near the best"
rc_is 0 "oracle of three, for people" ksweep-analyze oracle a b c --statistic groups --over minimum
unlike "$(cat out)" 'only one sweep' "measures what differs between runs"
like "$(cat out)" "minimum of the rounds' medians of minima of 8" "names the statistic"
rc_is 2 "the same run twice" ksweep-analyze oracle a a/results.h5
like "$(cat err)" 'contain the same run [0-9a-f]{32}' "is refused by name"
rc_is 2 "no such file" ksweep-analyze oracle nowhere

# --- as columns of the table
ksweep gather a b c -o all.h5 >/dev/null
ok "table --oracle" ksweep-analyze table all.h5 --oracle -o table.csv
is "$(head -n 1 table.csv | tr , '\n' | tail -n 3 | paste -sd,)" chance_best,chance_near_best,expected_regret "adds three columns"
is "$(python3 - table.csv oracle.csv <<'PY'
import csv, sys
said = {(r["problem_id"], r["instance_id"]): r for r in csv.DictReader(open(sys.argv[2]))}
names = ("chance_best", "chance_near_best", "expected_regret")
n = 0
for r in csv.DictReader(open(sys.argv[1])):
    o = said.get((r["problem_id"], r["instance_id"])) if r["device_class_id"] else None
    assert [r[k] for k in names] == [o[k] if o else "" for k in names], (r, o)
    n += o is not None and r["outcome"] == "ok"
print(n > 200)
PY
)" True "with what oracle says"
rc_is 0 "table --schema --oracle" ksweep-analyze table --schema --oracle
like "$(cat out)" '^chance_near_best,float32,1,.*,never,' "describes them"
rc_is 2 "not in the columns of old" ksweep-analyze table all.h5 --oracle --columns v1

# --- the label's statistic
rc_is 2 "table --statistic alone" ksweep-analyze table all.h5 --statistic low
like "$(cat err)" '--statistic needs --oracle' "is refused"
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then # as a version before the label depended on the backend wrote it
    cp -r a old && /usr/bin/python3 - <<'PY'
import h5py
with h5py.File("old/results.h5", "r+") as f:
    for table in "measurements", "attempts":
        rows = f[table][:]
        if "rounds_statistic" in rows.dtype.names: # of one round the median is that of all samples
            rows["rounds_time_ns"] = rows["time_median_ns"]
            rows["rounds_statistic"][rows["rounds_statistic"] != b""] = b"median"
        f[table][...] = rows
PY
    ksweep check old >out 2>&1
    unlike "$(cat out)" "column 'rounds_" "agrees with its journal"
    cp old/results.h5 old.h5
    rc_is 0 "a file whose labels are medians" ksweep-analyze oracle old.h5
    like "$(cat out)" 'label: median of the rounds. medians' "keeps its statistic"
    rc_is 2 "files of either kind" ksweep-analyze compare old.h5 b
    like "$(cat err)" "'old.h5' use the statistic median, .* 'b' use low: .* --statistic" "are not mixed"
    rc_is 0 "unless one statistic is named" ksweep-analyze compare old.h5 b --statistic low
    like "$(cat out)" "label: median of the rounds' 10 % quantiles" "which is used"
fi

# --- compare
rc_is 0 "the same machine" ksweep-analyze compare a b -- c
like "$(cat out)" ' 0 FASTER, 0 SLOWER$' "nothing changed"
like "$(cat out)" '^device: Made Up 9000$' "one device on both sides"
like "$(cat out)" 'only in A \([0-9]+ of them failed in B\)' "cells of one side are counted"
rc_is 0 "a slower one" ksweep-analyze compare --format csv -o cells.csv a b c -- d e
is "$(column cells.csv change | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')" SLOWER "most cells are slower"
like "$(column cells.csv smallest_detectable | head -n 1)" '^0\.[01]' "with what could have been found"
rc_is 0 "for people" ksweep-analyze compare a b c -- d e
like "$(cat out)" '^device differs: A Made Up 9000 \| B Made Up 8000$' "the device that differs is named"
like "$(cat out)" '^B / A +1\.[56]' "by a half in all"
rc_is 1 "--fail-if slower:2%" ksweep-analyze compare --fail-if slower:2% a b c -- d e
like "$(cat err)" 'cells are slower than' "and says why"
like "$(grep -A 1 '^--fail-if' out)" '^  \+[45][0-9.]+ % \+- .* conv_[0-9]+.*  host_' "and which cells"
like "$(tail -n 1 out)" '^  and [0-9]+ more$' "as far as there is room"
rc_is 1 "likewise in rows" ksweep-analyze compare --fail-if slower:2% --format csv -o slower.csv a b c -- d e
is "$(paste -d, <(column slower.csv change_at_limit) <(column slower.csv is_refused) | sort -u | paste -sd' ')" \
    "SLOWER,1" "every cell that is slower is refused"
rc_is 0 "--fail-if slower:200%" ksweep-analyze compare --fail-if slower:200% a b c -- d e
like "$(cat err)" "cells that are ok in A failed in B; '--fail-if failed' refuses that" "mentions failures"
rc_is 3 "--fail-if of single sweeps without visits" ksweep-analyze compare --fail-if slower:2% a b
like "$(cat err)" "'slower:2%' says nothing of [0-9]+ of [0-9]+ cells \(100 %\)" "sees nothing"
like "$(cat err)" "too little is decided about 'slower:2%'" "and is no pass"
rc_is 2 "--fail-if without a number" ksweep-analyze compare --fail-if slower a -- b
rc_is 2 "two limits" ksweep-analyze compare --fail-if slower:2% --fail-if slower:3% a -- b
like "$(cat err)" "'slower:3%': there already is such a rule" "are refused"
rc_is 1 "--fail-if failed" ksweep-analyze compare --fail-if slower:200% --fail-if failed a b c -- d e
like "$(cat err)" 'cells that are ok in A failed in B$' "and says why"
like "$(grep -A 1 '^--fail-if failed: ' out)" '^  (crashed|wrong_result|timeout|exited)  conv_' "and which cells"
cp out report
rc_is 1 "likewise in rows" ksweep-analyze compare --fail-if failed --format csv -o failed.csv a b c -- d e
is "$(column failed.csv is_refused | grep -c 1)" "$(sed -n 's/^--fail-if failed: \([0-9]*\) .*/\1/p' report)" "all of them"
is "$(awk -F, 'NR > 1 && $NF == 1 { print $(NF - 3) }' failed.csv | sort -u)" ok "that were ok in A"
rc_is 1 "with cells of one side" ksweep-analyze compare --fail-if failed --format csv -o lone.csv a -- g
is "$(column lone.csv change | grep -E 'LOST|NEW' | sort -u | paste -sd,)" LOST,NEW "which have verdicts of their own"
alias_row=$(grep ',conv_3,.*,host_gconv_6x64_indirect,' lone.csv) of_row=$(grep ',conv_3,.*,host_gconv_4x16_indirect,' lone.csv)
is "$(cut -d, -f 9,17 <<<"$alias_row")" "$(cut -d, -f 9,17 <<<"$of_row")" "an alias has the time of its representative"
unlike "$(cut -d, -f 9 <<<"$alias_row")" '^$' "which is one"
make_journal h 2 4 15 0 1 && make_journal i 2 4 15 0 15 && ksweep gather h >/dev/null && ksweep gather i >/dev/null
rc_is 0 "--fail-if failed, where all is well" ksweep-analyze compare --fail-if failed h i
rc_is 2 "no separator" ksweep-analyze compare a b c
rc_is 2 "an empty side" ksweep-analyze compare a --
ok "another condition" make_journal f 8 12 15 0 36 7
ksweep gather f >/dev/null
rc_is 2 "is nothing to compare with" ksweep-analyze compare a f
like "$(cat err)" 'no cell has a time on both sides' "and says so"

done_testing
