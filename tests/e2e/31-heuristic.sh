#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# asan: yes
# ksweep-analyze train and validate, of made-up results: the same bytes twice, leakage, what is refused.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal
cd "$tap_tmp" || exit 1
quick=(--rounds 8 --settings 1 --folds 3 --threads 1)

for i in 1 2; do
    make_journal run$i 24 8 5 0 $i >/dev/null 2>&1 && ksweep gather run$i >/dev/null 2>&1
done
make_journal run3 10 12 5 0 2 >/dev/null 2>&1 && ksweep gather run3 >/dev/null 2>&1
make_journal again 24 8 5 0 9 >/dev/null 2>&1 && ksweep gather again >/dev/null 2>&1 # the problems of run2
ok "two made-up sweeps of other problems" test -s run1/results.h5 -a -s run2/results.h5

# --- train
ksweep-analyze train run1/results.h5 -o m "${quick[@]}" >report 2>err
rc=$?
ok "train; exit 1 says that the model is useless" test $rc -le 1
like "$(cat report)" 'cross-validated: 3 folds by problem' "figures are cross-validated"
like "$(cat report)" "^outside of the range of their fold's training: [0-9]+ problems, which get the first instance of their class's static order" \
    "with what a selector does outside of its range"
like "$(cat report)" 'not deployable' "the first line says that it is no deployable figure"
like "$(cat report)" '^model, unseen class ' "one class left out"
for who in 'best fixed instance' 'static order' 'nearest neighbours' 'analytic model' random; do
    like "$(cat report)" "^$who " "beside $who"
done
is "$(ls m | paste -sd' ')" \
    "feature_spec.json importances.csv instances.csv manifest.json metrics.json model.json oof.csv problems.csv" \
    "the model directory"
ksweep-analyze train run1/results.h5 -o m2 "${quick[@]}" >/dev/null 2>&1
ok "the same seed and threads give the same bytes" diff -r m m2
rc_is 2 "an existing directory is not touched" ksweep-analyze train run1/results.h5 -o m "${quick[@]}"
like "$(cat err)" "'m' already exists" "and named"

# --- validate
ksweep-analyze validate m run2 --threads 1 --ceiling again/results.h5 >report 2>err
rc=$?
ok "validate" test $rc -le 1
like "$(head -n 1 report)" '^leakage: 0 problems are also in the training data' "leakage comes first"
like "$(cat report)" '^ceiling +0\.[0-9]+ ' "what another sweep chooses is not always the best"
unlike "$(cat report)" 'NOT INDEPENDENT' "and has other times"
like "$(cat report)" 'the 10 worst' "the worst problems"
like "$(cat report)" '^as compare_ml_vs_oracle.py' "Composable Kernel's definitions by name"
like "$(cat report)" '^mean efficiency when the first 1, 2, 4 among the instances measured for the problem \(not deployable\) are measured at first use: [01].[0-9]{4} [01].[0-9]{4} [01].[0-9]{4}$' \
    "what measuring a few candidates gains"
unlike "$(cat report)" '^the ceiling has' "for all problems"
ok "another sweep, with the results in the same file" ksweep-analyze import again/results.h5 run2/results.h5 -o both2.h5
for file in run2/results.h5 both2.h5; do
    ksweep-analyze validate m run2 --threads 1 --ceiling $file >report 2>err
    like "$(cat report)" "^NOT INDEPENDENT: --ceiling $file contains a run of the results" "$file as a ceiling says nothing"
    like "$(ksweep-analyze validate m run2 --threads 1 --ceiling $file --json 2>err)" '"is_ceiling_independent": false' "nor as JSON"
    rc_is 2 "$file as new times" ksweep-analyze validate m run2 --threads 1 --retime $file
    like "$(cat err)" "--retime $file: its times are those that chose the best: measure the job of --write-retime" "is refused"
done
cp run2/results.h5 run2.h5
like "$(ksweep-analyze validate m run2 --threads 1 --ceiling run2.h5 2>err)" '^ceiling +1\.0000  1\.0000' "the oracle in itself is 1"
like "$(ksweep-analyze validate m run2 --threads 1 --ceiling again --json 2>err)" '"is_ceiling_independent": true' "another run is independent"

# --- the ten worst, of several files: each problem's own
cat >worst.py <<'PY'
import json, subprocess, sys
worst = json.load(sys.stdin)["worst"]
for w in worst:
    assert len(w["look"]) == 1 and w["pick_ns"] >= w["best_ns"] > 0 and w["class"] and w["reason"], w
    assert abs(w["efficiency"] - w["best_ns"] / w["pick_ns"]) < 1e-6, w
    rows = subprocess.run(w["look"][0], shell=True, capture_output=True, text=True, check=True).stdout
    assert w["pick"] in rows and w["best"] in rows and w["problem_id"] in rows and w["problem"], w
print(len(worst), *sorted({w["look"][0].split()[2] for w in worst}))
PY
make_journal few 6 8 5 0 2 >/dev/null 2>&1 && ksweep gather few >/dev/null 2>&1
make_journal rest 24 8 5 0 6 >/dev/null 2>&1 && ksweep gather rest -o rest.h5 >/dev/null 2>&1
ksweep-analyze validate m few rest.h5 --threads 1 --json 2>err >out
is "$(python3 worst.py <out 2>&1)" "10 few rest.h5" "the commands show rows of pick and best"
ksweep-analyze validate m few rest.h5 --threads 1 2>err >out
is "$(sed -n 's/^ *look: ksweep-analyze table \([^ ]*\) | grep [0-9a-f]\{16\}$/\1/p' out | sort | uniq -c | wc -l)" 2 "in the text, too"
ksweep-analyze validate m run2/results.h5 --threads 1 --ceiling run3/results.h5 >report 2>err
like "$(cat report)" '^the ceiling has 10 of the problems$' "one that has some of them"
rc_is 2 "and one that has none" ksweep-analyze validate m run2/results.h5 --threads 1 --ceiling run1/results.h5
like "$(cat err)" '--ceiling: this sweep has none of the problems' "is refused"
rc_is 2 "all problems known from training" ksweep-analyze validate m run1/results.h5 --threads 1
like "$(cat err)" '24 problems are known from training' "says so"
ok "a sweep with problems of both" ksweep gather run1 run2 -o both.h5
ksweep-analyze validate m both.h5 --threads 1 >out 2>err
like "$(head -n 1 out)" '^leakage: 24 problems are also in the training data; they are left out' "leaked problems are counted"
like "$(sed -n 2p out)" '^  operator=grouped_conv' "and listed"
is "$(sed -n 22p out)" '  and 4 more: --json lists all' "or how many more there are, and where"
ksweep-analyze validate m both.h5 --threads 1 --json >out 2>err
is "$(grep -o '"leaked": \[.*' out | sed 's/\].*//' | grep -o operator=grouped_conv | wc -l)" 24 "all of them"
ksweep-analyze validate m both.h5 run1/results.h5 --threads 1 >out 2>err
like "$(head -n 1 out)" '^leakage: 24 problems' "once each, whatever the number of files"
ksweep-analyze validate m run2/results.h5 --threads 1 --against m2 >out 2>err
like "$(cat out)" '^against m2: mean \+0.0000 .* 0 problems more' "a model against itself"
like "$(tail -n 1 out)" '^passed' "passes the gate"
ksweep-analyze validate m run3/results.h5 --threads 1 >report 2>err
ok "results with instances that the model does not know" test $? -le 1
like "$(cat report)" '^model  ' "are judged"
like "$(cat report)" '^coverage: the model knows 8 of the 12 instances; the best is one of them on [0-9.]+ %' "and counted"

# --- what fails the gate: opposite scores, so it picks the slowest; outside of its range the static order
ksweep-analyze train run1/results.h5 -o opposite --where y=1,3 "${quick[@]}" >/dev/null 2>&1
python3 - opposite/model.json <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
for tree in doc["learner"]["gradient_booster"]["model"]["trees"]:
    for i, left in enumerate(tree["left_children"]):
        tree["split_conditions"][i] *= -1 if left < 0 else 1
json.dump(doc, open(sys.argv[1], "w"), separators=(",", ":"))
PY
rc_is 1 "a model that picks the slowest" ksweep-analyze validate opposite run2/results.h5 --threads 1 --against m
like "$(cat out)" '^THE MODEL HAS NO BENEFIT: ' "does not beat the baselines"
like "$(cat out)" '^against m: mean -0\.[0-9]+ .*, P10 -0\.[0-9]+ .*, [1-9][0-9]* problems more than 10 % slower, the most by [0-9.]+ %: operator=' \
    "is worse than the other one"
like "$(tail -n 1 out)" '^FAILED' "and fails the gate"
like "$(cat out)" "^outside of the training range: [1-9][0-9]* problems" "filters that it has not seen"
like "$(cat out)" "which get the first instance of their class's static order" "fall back"
like "$(cat out)" '^  y: operator=' "are listed"
like "$(cat out)" '^  large_filter +[1-9][0-9]*  1.0000  1.0000  1.0000' "and get the first of the static order, which is the best"
ksweep-analyze validate m run2/results.h5 --threads 1 --against opposite >out 2>err
like "$(tail -n 1 out)" '^passed' "which the other one passes"

# --- warm start
ksweep-analyze train run2 -o w --warm m "${quick[@]}" >report 2>err
rc=$?
ok "train --warm" test $rc -le 1
like "$(cat report)" '^continues m \([0-9]+ trees, 24 problems\); evaluated on the new problems' "evaluated on what is new"
unlike "$(cat report)" '^model, unseen class ' "no class is unseen"
is "$(python3 - m w <<'PY'
import json, sys
old, new = (json.load(open(d + "/feature_spec.json")) for d in sys.argv[1:])
print({k for k in old if old[k] != new[k]} <= {"digest", "least", "most"},
      all(b <= a for a, b in zip(old["least"], new["least"])),
      all(b >= a for a, b in zip(old["most"], new["most"])))
PY
)" "True True True" "feature_spec.json stays, but for the range"
like "$(tr -d ' \n' <w/manifest.json)" "\"continued\":\{\"model\":\"m\",\"model_sha256\":\"$(sha256sum m/model.json | cut -d ' ' -f 1)\",\"n_problems\":24" \
    "the manifest names the model"
is "$(wc -l <w/problems.csv)" 49 "problems of both are known"
is "$(tail -n +2 m/oof.csv | sort)" "$(tail -n +2 w/oof.csv | sort | grep -Ff <(cut -d , -f 1 m/problems.csv | tail -n +2))" \
    "scores of the model's problems stay"
ksweep-analyze train run2 -o w2 --warm m "${quick[@]}" >/dev/null 2>&1
ok "the same bytes twice" diff -r w w2
rc_is 2 "all problems of both are leaks" ksweep-analyze validate w run1/results.h5 run2/results.h5 --threads 1
like "$(cat err)" '48 problems are known from training' "which validate knows"
rc_is 2 "nothing new to learn" ksweep-analyze train run1/results.h5 -o w3 --warm w "${quick[@]}"
like "$(cat err)" '24 problems are known from training' "says so"
rc_is 2 "instances that the model does not know" ksweep-analyze train run3/results.h5 -o w3 --warm m "${quick[@]}"
like "$(cat err)" "feature_spec.json does not contain instance '.*': train a new model" "are named"
not_ok "nothing was written" test -e w3

# --- warm start beyond the range: filters of 5x5, which the model has not seen
ksweep-analyze validate opposite run2/results.h5 --threads 1 >report 2>err
like "$(cat report)" '^  y: operator=' "filters beyond the range of the model"
like "$(cat report)" '^in the cross-validation of the model: [0-9]+ of its 16 training problems' "and what its training says"
ksweep-analyze train run2 -o wide --warm opposite --where y=5 "${quick[@]}" >/dev/null 2>&1
ksweep-analyze validate wide run2/results.h5 --threads 1 --mixed >report 2>err
unlike "$(cat report)" '^  y: operator=' "are within it once it is trained on some"
unlike "$(cat report)" 'NOT OF THE MODEL' "a report of the model's own source says nothing of others"

# --- what the model directory says of problems outside of the range
is "$(python3 - opposite wide m <<'PY'
import csv, json, sys
for d in sys.argv[1:]:
    with open(d + "/manifest.json") as f:
        manifest = json.load(f)
    problems = list(csv.DictReader(open(d + "/problems.csv")))
    time, best, pick = {}, {}, {}
    for row in csv.DictReader(open(d + "/oof.csv")):
        best[row["problem_id"]] = min(float(row["time_ns"]), best.get(row["problem_id"], 1e30))
        if row["is_pick"] == "1":
            pick[row["problem_id"]] = float(row["time_ns"])
    mean = sum(best[p] / pick[p] for p in best) / len(best)
    with open(d + "/metrics.json") as f:
        said = [c for c in json.load(f)["choosers"] if c["name"] == "model"][0]["among_measured"]["mean"]
    n = sum(p["is_outside"] == "1" for p in problems)
    print(n == manifest["n_outside"], d == "wide" or abs(mean - said) < 1e-6)
PY
)" "True True
True True
True True" "n_outside is counted, and is_pick is what the figures count"

# --- networks
python3 - m/problems.csv w/problems.csv <<'PY' >net.csv
import csv, sys
old, both = (list(csv.DictReader(open(f))) for f in sys.argv[1:])
seen = {r["problem_id"] for r in old}
words = [dict(w.split("=") for w in r["canonical"].split()) for r in both if r["problem_id"] not in seen][:2]
words.append(dict(words[0], n="77"))
print(",".join(words[0]) + ",count")
for n, w in enumerate(words):
    print(",".join(w.values()) + ",%d" % (3 + n))
PY
ksweep-analyze validate m run2/results.h5 --threads 1 --network net.csv >report 2>err
ok "validate --network" test $? -le 1
like "$(cat report)" '^  net.csv: 2 of 3 problems, 7 of 12 uses, best [0-9.]+ ms' "counts what was judged"
like "$(cat report)" '^    model +[0-9.]+ % \[[0-9.]+, [0-9.]+\]' "regret of the model by use counts"
like "$(cat report)" '^regret per network: time of the picks among the instances measured for the problem \(not deployable\)' "not deployable"
like "$(cat report)" "^    the model's pick among all instances was measured for (100|[0-9]{1,2})\.[0-9] % of these uses" "but how much of it is"
rc_is 2 "a network that is no list" ksweep-analyze validate m run2/results.h5 --network report

# --- select
for size in full distilled; do
    rc_is 0 "select --size $size" ksweep-analyze select m -o s-$size --size $size --name pick
    like "$(cat out)" '^unseen problems, all trees \(full\) +[01]\.[0-9]+' "$size: what the full model does with unseen problems"
    ok "$size: compiles as C99" cc -std=c99 -O1 -Wall -Wextra -Wno-unknown-pragmas -Werror -c s-$size/pick.c -o $size.o
    ok "$size: links with its test" cc -std=c99 s-$size/test_pick.c $size.o -o t-$size
    rc_is 0 "$size: picks on every problem what the program does" ./t-$size
    like "$(cat out)" '^ok 1 - 30 problems' "$size: all of them, and some outside of their range"
    like "$(cat s-$size/test_pick.c)" '^      [1-9], [34], \{' "$size: for these the static orders choose"
done
like "$(cat s-distilled/pick.report.txt)" '^unseen problems, table only' "the table's own figure"
ok "distilled: at most 64 KiB" test "$(size distilled.o | awk 'NR == 2 { print $1 + $2 + $3 }')" -le 65536
is "$(ls s-full | paste -sd' ')" \
    "pick.c pick.h pick.lightgbm.txt pick.report.txt pick.xgboost.json test_pick.c" "the selector's files"
ksweep-analyze table run2/results.h5 -o run2.csv 2>/dev/null
for model in m opposite; do
    rc_is 0 "select of $model" ksweep-analyze select $model -o so-$model --name pick
    ok "as a library" cc -std=c99 -O1 -Wno-unknown-pragmas -fPIC -shared so-$model/pick.c -o so-$model/pick.so
    ksweep-analyze validate $model run2/results.h5 --threads 1 2>/dev/null |
        sed -n 's/^model  *\([0-9].*\)/\1/p' | tr -d '|' | xargs >figures
    is "$(python3 "$KSWEEP_SOURCE_DIR/tests/tools/selector_figures.py" so-$model pick run2.csv 2>&1)" "$(cat figures)" \
        "picks on every unseen problem what validate counts"
done
rc_is 0 "select --smallest" ksweep-analyze select m -o s-small --smallest 2
like "$(cat out)" '^full selector: [12] candidates' "chooses from a few instances"
rc_is 2 "an existing directory" ksweep-analyze select m -o s-full
rc_is 2 "a name that is none in C" ksweep-analyze select m -o s --name 1x
like "$(cat err)" "'1x' is not a C identifier" "is refused"
cp -r m m4 && sed -i 's/"arithmetic": 1/"arithmetic": 2/' m4/feature_spec.json
rc_is 2 "a specification of another version" ksweep-analyze select m4 -o s
like "$(cat err)" 'm4/feature_spec.json:[0-9]+: arithmetic: arithmetic 2, but this version computes 1: train the model again' "says what to do"
not_ok "nothing was written" test -e s

# --- features as columns
rc_is 0 "table --features" ksweep-analyze table run1/results.h5 --features -o f.csv
like "$(head -n 1 f.csv)" ',feature_log2_m,.*,feature_align_c,' "has them behind its columns"
is "$(head -n 1 f.csv | tr , '\n' | sort | uniq -d)" "" "no name stands twice"
rc_is 0 "a table with features converts to HDF5" ksweep-analyze table f.csv --format hdf5 -o f2.h5
rc_is 0 "and back" ksweep-analyze table f2.h5 -o f2.csv
ok "to the same bytes" cmp f.csv f2.csv
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
    rc_is 0 "as HDF5" ksweep-analyze table run1/results.h5 --features --format hdf5 -o f.h5
    is "$(/usr/bin/python3 "$KSWEEP_SOURCE_DIR/tests/tools/check_table.py" hdf5 f.h5 f.csv | sed 's/.*, rest/rest/')" \
        "rest 0 " "no value is taken for a missing one"
    rc_is 0 "which converts" ksweep-analyze table f.h5 -o f2.csv
    ok "to the same bytes" cmp f.csv f2.csv
fi

# A problem that no operator of ours has, between others.
key=-28-28-1x1-256-28-28-16-0x0-1x1-1x1-0-NCHW
for problem in 16$key-FP16 16$key-INT8 32$key-FP16; do
    echo "$problem-F=a:0.3,0,miopenConvolutionFwdAlgoGEMM;b:0.2,0,miopenConvolutionFwdAlgoGEMM"
done >gfx942130.int8.txt
ok "a find-db with an INT8 problem" ksweep-analyze import gfx942130.int8.txt -o int8.h5
rc_is 0 "has features" ksweep-analyze table int8.h5 --features -o int8.csv
like "$(cat err)" '^ksweep-analyze table: 2 rows have no features: their problem cannot be read$' \
    "but not of the rows of that problem, which are counted"
is "$(python3 - int8.csv <<'PY'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    print("INT8" in row["problem_name"], any(v for k, v in row.items() if k.startswith("feature_")))
PY
)" "False True
False True
True False
True False
False True
False True" "whose feature columns are empty"
grep INT8 gfx942130.int8.txt >gfx942130.only8.txt
ok "a find-db of INT8 problems only" ksweep-analyze import gfx942130.only8.txt -o only8.h5
rc_is 2 "has none at all" ksweep-analyze table only8.h5 --features -o no.csv
like "$(cat err)" 'only8.h5: no row has a problem that can be read, so there are no features$' "which is one error"
not_ok "and nothing is written" test -e no.csv

# --- need
python3 - m/problems.csv <<'PY' >list.csv
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
print(",".join(w.split("=")[0] for w in rows[0]["canonical"].split()))
for r in rows[:4]:
    words = dict(w.split("=") for w in r["canonical"].split())
    print(",".join(words.values()))
    words["n"] = "3"
    print(",".join(words.values()))
words["dtype"] = "bf16"
print(",".join(words.values()))
words.update(dtype="fp32", direction="backward_data")
print(",".join(words.values()))
PY
(head -n 1 list.csv && tail -n 2 list.csv) >unfit.csv
rc_is 2 "need: problems that the model is not for" ksweep-analyze need m --problems unfit.csv
like "$(cat err)" 'nothing to choose from: of 2 problems 0 are in training, and 2 have an operator, direction' "says why"
rc_is 0 "need" ksweep-analyze need m --problems list.csv -n 2 -o next.csv
like "$(cat err)" 'of 10 problems 4 are in training, and the model cannot choose for 2' "what is left out is counted"
like "$(head -n 1 out)" '^2 of 4 new problems, most valuable first' "problems of training are not offered"
like "$(cat out)" 'instances: host_' "with the instances to measure them with"
rc_is 0 "the list is one that a job reads" ksweep problems next.csv
is "$(grep -c '' next.csv)" 3 "two problems"
cp -r m slow && python3 - slow/oof.csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for row in rows:
    times = [float(r["time_ns"]) for r in rows if r["problem_id"] == row["problem_id"]]
    row["is_pick"] = int(float(row["time_ns"]) == max(times))
with open(sys.argv[1], "w") as f:
    out = csv.DictWriter(f, list(row), lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
PY
ksweep-analyze need m --problems list.csv -n 1 >better 2>err
ksweep-analyze need slow --problems list.csv -n 1 >worse 2>err
ok "losses are those of the recorded picks, not of the scores" \
    python3 -c 'import sys; a, b = (float(open(f).read().split("\n")[2].split()[1]) for f in sys.argv[1:]); sys.exit(not a > b)' worse better
python3 - w/problems.csv <<'PY' >far.csv
import csv, sys
words = [dict(w.split("=") for w in r["canonical"].split()) for r in csv.DictReader(open(sys.argv[1]))]
far = [w for w in words if w["y"] == "5"][0]
print(",".join(far) + "\n" + ",".join(far.values()))
PY
ksweep-analyze need opposite --problems far.csv >out 2>err
is "$(sed -n 's/^ *instances: \([^,]*\),.*/\1/p' out)" "$(python3 - opposite <<'PY'
import csv, sys
time, merit = {}, {}
names = {r["instance_id"]: r["name"] for r in csv.DictReader(open(sys.argv[1] + "/instances.csv"))}
for r in csv.DictReader(open(sys.argv[1] + "/oof.csv")):
    time.setdefault(r["problem_id"], {})[r["instance_id"]] = float(r["time_ns"])
for t in time.values():
    for i in t:
        merit[i] = merit.get(i, 0) + min(t.values()) / t[i]
print(names[max(merit, key=merit.get)])
PY
)" "outside of the range the static order names the instances"

# --- what is refused
ok "a sweep under another condition" make_journal other 6 8 5 0 3 0xc0ffee02
ksweep gather other >/dev/null 2>&1
rc_is 2 "conditions are not mixed" ksweep-analyze train run1/results.h5 other/results.h5 -o m3 "${quick[@]}"
like "$(cat err)" 'rows of condition .* allow it with --mixed' "unless allowed"
not_ok "nothing was written" test -e m3
rc_is 2 "nor is a model continued" ksweep-analyze train other/results.h5 -o m3 --warm m "${quick[@]}"
like "$(cat err)" '--warm m: it is for .* allow it with --mixed' "unless allowed"
rc_is 2 "nor is a ceiling under another condition" ksweep-analyze validate m run2/results.h5 --ceiling other/results.h5
like "$(cat err)" '^ksweep-analyze.*other/results.h5 was measured under condition' "which is named"
ok "a model under another condition" test "$(ksweep-analyze train other/results.h5 -o m5 "${quick[@]}" >/dev/null 2>&1; echo $?)" -le 1
rc_is 2 "is no gate for this one" ksweep-analyze validate m run2/results.h5 --against m5
like "$(cat err)" '--against m5: it is for .*allow it with --mixed' "unless allowed"
for device in gfx942130 gfx90a68; do
    for c in 16 32 48 64; do
        echo "$c-28-28-1x1-256-28-28-16-0x0-1x1-1x1-0-NCHW-FP16-F=a:0.$c,0,miopenConvolutionFwdAlgoGEMM;b:0.3,0,miopenConvolutionFwdAlgoGEMM"
    done >$device.txt
    ok "a find-db of $device" ksweep-analyze import $device.txt -o $device.h5
done
rc_is 2 "devices are not mixed" ksweep-analyze train gfx942130.h5 gfx90a68.h5 -o m3 "${quick[@]}"
like "$(cat err)" 'gfx90a68.h5: rows of device class [0-9a-f]{16} \(gfx90a\) together with .* \(gfx942\); .* allow it with --mixed' "unless allowed"
not_ok "nothing was written" test -e m3
ksweep-analyze train gfx942130.h5 gfx90a68.h5 -o mixed --mixed "${quick[@]}" >/dev/null 2>notes
rc=$?
ok "unless allowed" test $rc -le 1
like "$(cat notes)" ' 0 replaced by later ones; 4 problems' "but times of two devices are not compared"
like "$(cat notes)" '--mixed: 8 rows of 4 problems left out' "which is counted"
like "$(cat mixed/manifest.json)" '"n_rows_of_other_sources": 8' "in the manifest, too"
# The first row is of a device that no problem keeps; the third device has more problems than the second.
head -n 1 gfx942130.txt | sed 's/;b:.*//' >gfx90878.txt
sed 's/^/9/' gfx942130.txt >gfx103024.txt
sed -i 4d gfx942130.txt
for device in gfx90878 gfx942130 gfx103024; do
    rm -f $device.h5
    ksweep-analyze import $device.txt -o $device.h5 >/dev/null 2>&1
done
ksweep-analyze train gfx90878.h5 gfx942130.h5 gfx103024.h5 -o mixed3 --mixed "${quick[@]}" >/dev/null 2>notes
is "$(python3 - mixed3/manifest.json <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
print(m["device"]["arch"], *("%s:%d" % (s["arch"], s["n_problems"]) for s in m["sources"]))
PY
)" "gfx1030 gfx1030:4 gfx942:3" "the model is of the source of most problems, and all that are kept are named"
like "$(cat notes)" '--mixed: 4 problems from gfx1030 ' "in notes, too"
ksweep-analyze validate mixed3 gfx90a68.h5 --mixed --threads 1 >report 2>err
like "$(cat report)" "^NOT OF THE MODEL'S SOURCE: results: [0-9] problems measured on gfx90a .*; the model is for gfx1030 " \
    "validate says so of results of another device"
rc_is 2 "which it refuses without --mixed" ksweep-analyze validate mixed3 gfx90a68.h5 --threads 1
rc_is 2 "a search on fewer problems than folds" ksweep-analyze train run1/results.h5 -o m3 "${quick[@]}" --search-problems 2
like "$(cat err)" '2 problems in 3 folds' "says so"
rc_is 2 "a filter that names nothing" ksweep-analyze train run1/results.h5 -o m3 --where shape=1 "${quick[@]}"
like "$(cat err)" '--where shape: unknown property' "is named"
rc_is 2 "a filter that leaves nothing" ksweep-analyze train run1/results.h5 -o m3 --where dtype=bf16 "${quick[@]}"
like "$(cat err)" 'no usable row: of .* the filters leave out' "says why"
rc_is 2 "not a model" ksweep-analyze validate run1 run2/results.h5
like "$(cat err)" "'run1' is not a model directory" "is named"
printf 'x' >m2/model.json
rc_is 2 "a damaged model" ksweep-analyze validate m2 run2/results.h5
like "$(cat err)" 'm2/model.json' "names the file"
printf '{}' >m2/feature_spec.json
cp m/model.json m2/
rc_is 2 "a damaged specification" ksweep-analyze validate m2 run2/results.h5
like "$(cat err)" 'm2/feature_spec.json' "names the file"

done_testing
