#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# asan: yes
# results.h5, training.csv and the report, of made-up journals: opened with h5py, pandas, PyTables and
# h5dump, and held against one another.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal h5dump
python=/usr/bin/python3 # Debian's, whose packages these are
$python -c 'import h5py, pandas, tables' 2>/dev/null ||
    skip_all "python3-h5py, python3-pandas or python3-tables is not installed"
cd "$tap_tmp" || exit 1

json() { # FILE KEY...
    $python -c 'import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2:]:
    v = v[int(k) if k.isdigit() else k]
print(v)' "$@"
}
lines() { wc -l <"$1"; }

# --- one run, partly done
ok "a made-up run of 12 problems x 30 instances, 17 cells pending" make_journal a 12 30 15 17 1
rc_is 0 "gather" ksweep gather a
like "$(cat out)" '343 of 360 cells, .* ok, .* 17 pending' "gather prints counts"
rc_is 0 "check" ksweep check a
like "$(cat out)" 'a: whole, .* rows of results.h5 agree with it' "check compares row by row"
rc_is 0 "table" ksweep-analyze table a/results.h5 -o a/training.csv
like "$(cat err)" '17 of 360 cells have no outcome yet' "what is not in the table is said"
is "$(lines a/training.csv)" 344 "a row per cell with an outcome, and the header"
$python "$KSWEEP_SOURCE_DIR/tests/tools/check_h5.py" a/results.h5 a/training.csv >h5.tap
rc=$?
[ $rc -eq 0 ]
tap_report $? "$(grep -c '^ok' h5.tap) comparisons of file and table" || grep -A1 '^not ok' h5.tap | sed 's/^/# /'
like "$(tail -n 1 h5.tap)" '^1\.\.2[0-9][0-9]$' "all comparisons were made"

# --- the comparison can fail
sed '5s/\(,3[0-9]*\.\)/,7\1/' a/training.csv >bad.csv
sed -i '7s/,ok,/,crashed,/' bad.csv
not_ok "a changed outcome is noticed" \
    $python "$KSWEEP_SOURCE_DIR/tests/tools/check_h5.py" a/results.h5 bad.csv

# --- the same again
rc_is 0 "gather again, elsewhere" ksweep gather a -o again.h5
ok "the same bytes" cmp a/results.h5 again.h5
rc_is 0 "table to standard output" ksweep-analyze table a/results.h5
cp out again.csv
ok "the same table" cmp again.csv a/training.csv

# --- the columns of the table
rc_is 0 "table --schema" ksweep-analyze table --schema
like "$(cat out)" '^time_median_ns,float32,ns,-1,label,/measurements,median time of one call' "name, type, unit, missing value, role, origin, meaning"
like "$(cat out)" '^n_spatial_dims,int64,' "every dimension"
like "$(cat out)" '^trait_\*,' "and traits as one line"
is "$($python -c 'import csv, pandas
print(*(r["column"] for r in csv.DictReader(open("out")) if hasattr(pandas.DataFrame, r["column"])))')" "" \
    "no column of any operator is hidden by an attribute of a data frame"
rc_is 0 "table --schema of a file" ksweep-analyze table --schema a/results.h5
is "$(sed 1d out | cut -d, -f1 | paste -sd,)" "$(head -n 1 a/training.csv)" "lists the columns of its table"
rc_is 0 "table --columns v1" ksweep-analyze table a/results.h5 --columns v1
like "$(head -n 1 out)" '^run_id,problem_id,.*,ndim,.*,trait_tile_m,.*,v1,v2,.*,alias_of,.*,started_ns$' "has the old names"
rc_is 2 "a version that is none" ksweep-analyze table a/results.h5 --columns v3

# --- report
rc_is 0 "report" ksweep-analyze report a/results.h5
like "$(cat out)" '^conv_1 ä × 3 ' "names of problems, UTF-8"
like "$(cat out)" 'pending +17' "pending cells are counted"
like "$(cat out)" 'sum +360' "outcomes add up to the grid"
like "$(cat out)" 'rank 1 +node1 +Made Up 9000 +cores 2-3 +[0-9]+ cells' "who measured"
rc_is 0 "report --json" ksweep-analyze report a/results.h5 --json
cp out report.json
is "$(json report.json n_cells)" 360 "cells"
best=$($python - a/training.csv <<'PY'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["outcome"] == "ok"]
first = [r for r in rows if r["problem_id"] == rows[0]["problem_id"]]
times = sorted(first, key=lambda r: float(r["time_median_ns"]))
print(times[0]["instance_name"], round(float(times[-1]["time_median_ns"]) / float(times[0]["time_median_ns"]), 6))
PY
)
is "$(json report.json problems 0 best_instance) $($python -c 'import json; print(round(json.load(open("report.json"))["problems"][0]["worst_over_best"], 6))')" \
    "$best" "the best instance and the ratio are those of the table"

# --- aliases: times of their own they have none, those of their code stand beside
is "$($python - a/training.csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
by_cell = {(r["problem_id"], r["instance_id"]): r for r in rows}
aliased = [r for r in rows if r["outcome"] == "aliased"]
for r in rows:
    code = by_cell.get((r["problem_id"], r["representative_id"])) if r in aliased else r
    want = (code["outcome"], code["time_median_ns"], code["time_over_anchor"]) if code else ("", "", "")
    assert want == (r["code_outcome"], r["code_time_median_ns"], r["code_time_over_anchor"]), r
    assert r in aliased or not r["representative_id"]
assert all(r["representative_id"] and not r["time_median_ns"] for r in aliased)
print(len(aliased) > 3)
PY
)" True "an alias has the times of what it points to"
is "$(json report.json aliases n_aliased)" "$(json report.json outcomes aliased)" \
    "the report counts them"

# --- Composable Kernel's columns
rc_is 0 "table --format ck" ksweep-analyze table a/results.h5 --format ck -o ck.csv
is "$(head -n 1 ck.csv)" "kernel,problem_idx,N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dilation_d,dilation_h,dilation_w,latency_ms,tflops,non_zero" \
    "the 24 columns"
is "$(lines ck.csv)" "$(($($python - a/training.csv <<'PY'
import csv, sys
print(sum(r["outcome"] == "ok" for r in csv.DictReader(open(sys.argv[1]))))
PY
) + 1))" "the ok rows"
$python - ck.csv a/training.csv <<'PY' >ck.out 2>&1
import csv, sys
ck = list(csv.DictReader(open(sys.argv[1])))
ok = [r for r in csv.DictReader(open(sys.argv[2])) if r["outcome"] == "ok"]
index, seen = 0, {}
for a, b in zip(ck, ok):
    seen.setdefault(b["problem_id"], len(seen))
    assert int(a["problem_idx"]) == seen[b["problem_id"]], (a, b)
    assert a["kernel"] == b["instance_name"]
    for x, y in (("N", "n"), ("C", "c_total"), ("K", "k_total"), ("G", "g"), ("Hi", "hi"), ("Z", "z"),
                 ("pad_h", "pad_h_lo"), ("pad_w", "pad_w_hi"), ("dilation_d", "dilation_d")):
        assert a[x] == b[y], (x, a, b)
    ms = float(b["time_median_ns"]) / 1e6
    assert abs(float(a["latency_ms"]) - ms) <= 1e-6 * ms
    assert abs(float(a["tflops"]) * 1000 - float(b["gflops_per_s"])) <= 1e-5 * float(b["gflops_per_s"])
    assert int(a["non_zero"]) == int(b["n_elements"]) - int(b["n_zero"])
print("fine", len(ck))
PY
like "$(cat ck.out)" '^fine [0-9]+$' "idx by first appearance, latency the median, non_zero of the whole output"

# --- several runs
ok "another run of the same grid" make_journal c 12 30 15 0 8
rc_is 0 "gather both" ksweep gather a c -o both.h5
like "$(cat out)" '703 of 720 cells.*; 2 runs' "the union"
rc_is 2 "a segment of a journal is no output" ksweep gather a -o a/journal/0001.ksj
rc_is 2 "the same run twice is refused" ksweep gather a a -o twice.h5
like "$(cat err)" 'contain the same run [0-9a-f]{32}: give only the one with more records' "and named"
not_ok "nothing was written" test -e twice.h5
rc_is 0 "check of a merged file" ksweep check both.h5
rc_is 0 "table of both" ksweep-analyze table both.h5 -o both.csv
is "$(lines both.csv)" 704 "all rows"
$python "$KSWEEP_SOURCE_DIR/tests/tools/check_h5.py" both.h5 both.csv >h5.tap
tap_report $? "$(grep -c '^ok' h5.tap) comparisons of the merged file" || grep -A1 '^not ok' h5.tap | sed 's/^/# /'
for how in newest median; do
    rc_is 0 "table --merge $how" ksweep-analyze table both.h5 --merge $how
    is "$(lines out)" 361 "one row per cell"
    like "$(cat err)" "merging left out 343 of 703 rows" "$how says what it left out"
done

# --- what the analysis printed before it was rebuilt
golden=$KSWEEP_SOURCE_DIR/tests/golden/analysis
ok "a run" make_journal golden_a 3 8 7 2 1
ok "and another" make_journal golden_b 3 8 7 0 8
rc_is 0 "are gathered" ksweep gather golden_a golden_b -o both.h5
ksweep-analyze table both.h5 --columns v1 -o table.csv 2>err
ok "the same table" cmp table.csv "$golden/table.csv"
ksweep-analyze table both.h5 --format ck -o ck.csv 2>err
ok "the same table for Composable Kernel" cmp ck.csv "$golden/ck.csv"
ksweep-analyze report both.h5 >report.txt
ok "the same report" cmp report.txt "$golden/report.txt"
ksweep-analyze report both.h5 --json >report.json
ok "and in JSON" cmp report.json "$golden/report.json"
if command -v h5repack >/dev/null; then # a file with other filters is read through HDF5
    ok "without filters" h5repack -f NONE -i both.h5 -o plain.h5
    rc_is 0 "table of that" ksweep-analyze table plain.h5 --columns v1 -o plain.csv
    ok "is the same" cmp plain.csv "$golden/table.csv"
fi

# --- other forms of a table
for form in text markdown json; do
    rc_is 0 "table --format $form" ksweep-analyze table both.h5 --columns v1 --format $form -o table.$form
done
is "$(lines table.text) $(lines table.markdown)" "$(lines table.csv) $(($(lines table.csv) + 1))" \
    "a line per row, and the header"
is "$($python -c 'import csv, json
a = json.load(open("table.json"))
b = list(csv.DictReader(open("table.csv")))
def same(x, y):
    return y == "" if x is None else x == y if isinstance(x, str) else float(x) == float(y)
print(len(a) == len(b) and all(same(x[k], y[k]) for x, y in zip(a, b) for k in y))')" True \
    "JSON and CSV hold the same values"

# --- input that is no good
rc_is 2 "no such file" ksweep-analyze table none.h5
like "$(cat err)" "none.h5" "is named"
echo text >text.h5
rc_is 2 "not HDF5" ksweep-analyze report text.h5
rc_is 2 "no operand" ksweep-analyze table
rc_is 2 "unknown command" ksweep-analyze tabel
like "$(cat err)" "did you mean 'table'" "suggests"
rc_is 2 "nothing to gather" ksweep gather "$tap_tmp"
rc_is 2 "nothing to check" ksweep check text.csv

# --- the program
for help in --help help; do
    rc_is 0 "ksweep-analyze $help" ksweep-analyze $help
    like "$(cat out)" '^  table ' "lists the commands"
done
for a in table report; do
    rc_is 0 "$a --help" ksweep-analyze $a --help
    like "$(cat out)" "^usage: ksweep-analyze $a .*FILE" "shows how"
    rc_is 0 "help $a" ksweep-analyze help $a
done
rc_is 2 "help of nothing" ksweep-analyze help nothing
rc_is 2 "no command" ksweep-analyze
rc_is 0 "the version" ksweep-analyze --version
rc_is 0 "the manual" ksweep-analyze help --markdown
like "$(cat out)" '^\| `--merge HOW`' "has option tables"
rc_is 2 "an option that is none" ksweep-analyze report a/results.h5 --jsn
rc_is 0 "written through a link, not over it" \
    bash -c 'ln -s real.csv link.csv && touch real.csv && ksweep-analyze table a/results.h5 -o link.csv'
ok "the link is still there" test -L link.csv
ok "and what it leads to was written" cmp real.csv a/training.csv
rc_is 3 "a full disk" ksweep-analyze table a/results.h5 -o /dev/full

# --- a segment that was copied
ok "another run" make_journal copied 2 3 0 0 1
rc_is 0 "is gathered" ksweep gather copied -o once.h5
cp copied/journal/0001.ksj copied/journal/0002.ksj
rc_is 1 "check tells of a copied segment" ksweep check copied
like "$(cat out)" '^finding: copied/journal/0002.ksj: ignored, it is a copy of segment 1 ' "and which it is"
rc_is 0 "gather reads it not" ksweep gather copied -o twice.h5
for t in attempts measurements samples/time_ns; do
    ok "/$t is the same" h5diff once.h5 twice.h5 "/$t"
done
tail -c +1 copied/journal/0002.ksj >>copied/journal/0001.ksj # as by cat
rm copied/journal/0002.ksj
rc_is 0 "a segment that was copied into itself" ksweep gather copied -o twice.h5
ok "every key stands once in /attempts" $python -c 'import h5py
a = h5py.File("twice.h5")["attempts"]
keys = [tuple(r) for r in a["run", "problem_id", "instance_id", "condition_id", "attempt", "round_index", "role"] if r["role"] == 0]
b = h5py.File("once.h5")["attempts"]
assert len(keys) == len(set(keys)) == sum(r["role"] == 0 for r in b), (len(keys), len(set(keys)))'
rc_is 0 "check" ksweep check copied
like "$(cat out)" '^note: [0-9]+ records are duplicates' "says that records stand twice"

# --- damage
head -c 20000 /dev/zero | dd of=a/results.h5 bs=1 seek=30000 conv=notrunc status=none
rc_is 1 "damage in the file is found" ksweep check a
like "$(cat out)" '^finding: .*a/results.h5' "and said where"
size=$(stat -c %s a/journal/0001.ksj)
printf 'X' | dd of=a/journal/0001.ksj bs=1 seek=$((size / 2)) conv=notrunc status=none
rc_is 0 "gather of a damaged journal" ksweep gather a
like "$(cat err)" 'damaged in 1 places' "warns"
rc_is 1 "check of it" ksweep check a
like "$(cat out)" 'finding: a/journal/0001.ksj: [0-9]+ bytes at offset [0-9]+ are damaged' "locates the damage"
unlike "$(cat out)" 'differs from the journal' "the file is what the journal says now"
done_testing
