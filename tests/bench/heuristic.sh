#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heuristic.sh [--build DIR] [--data DIR] [--out DIR] [--threads N] [--splits N] [--small] [NAME...] - what
# selectors trained on MIOpen's find-db reach, by 5-fold grouped cross-validation with fixed seeds: mean /
# P10 among the measured candidates, the two other lines, static order beside them; what is to be reached;
# met or MISSED. docs/benchmarks.md says more.
#
#   fwd-fp16 fwd-fp32 bwd-data-fp32     MI300X (gfx942)
#   mi210                               MI210 (gfx90a), forward fp16, 2-D
#   transfer                            forward fp16, 2-D, one device's model on the other's data
#   need need-class need-uses           MI300X forward fp16: regret against the number of problems,
#                                       chosen by `need` and at random, with 95 % intervals of the
#                                       difference over random splits. What is measured first is a
#                                       random sample (need), or 3x3 layers only (need-class); or use
#                                       counts follow Zipf's law, and the heaviest problems first are a
#                                       third choice (need-uses). Started again, these rows go on
#
#   --build DIR   a configured build tree; default build
#   --data DIR    the find-db files; default $KSWEEP_TEST_DATA/miopen_fdb
#   --out DIR     results files, models and logs; default build/bench/heuristic
#   --threads N   default 2
#   --splits N    of the rows of `need`; default 10
#   --small       a first look in minutes: 1x1 convolutions, few trees; goals are not asked for
#
# Then label_floor.py on models in --out estimates what errors of the labels alone cost, which no model
# can undercut: label_floor.py build/bench/heuristic/fwd-fp32
#
# Exit: 0 every goal met, 1 some missed, 2 wrong usage or no data, 3 a step failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
fail() { # STATUS MESSAGE
    echo "heuristic.sh: $2" >&2
    exit "$1"
}

all="fwd-fp16 fwd-fp32 bwd-data-fp32 mi210 transfer need need-class need-uses"
build=$root/build data=${KSWEEP_TEST_DATA:-}/miopen_fdb out='' threads=2 splits=10 names=() small=()
while [ $# -gt 0 ]; do
    case $1 in
    --build | --data | --out | --threads | --splits)
        [ $# -ge 2 ] || fail 2 "$1 needs a value"
        case $1 in --build) build=$2 ;; --data) data=$2 ;; --out) out=$2 ;; --threads) threads=$2 ;; --splits) splits=$2 ;; esac
        shift ;;
    --small) small=(--where class=1x1 --rounds 60 --search-problems 300) ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) [[ " $all " == *" $1 "* ]] || fail 2 "no row '$1'; see heuristic.sh --help"
       names+=("$1") ;;
    esac
    shift
done
# shellcheck disable=SC2206
[ ${#names[@]} -gt 0 ] || names=($all)
out=${out:-$build/bench/heuristic}
analyze=$(cd "$build/bin" && pwd)/ksweep-analyze
[ -x "$analyze" ] || fail 2 "no $analyze: build it first"
[ -d "$data" ] || fail 2 "no find-db in '$data': give --data DIR"
data=$(cd "$data" && pwd)
mkdir -p "$out" && cd "$out" || fail 3 "cannot use $out"
export OMP_WAIT_POLICY=passive

import() { # NAME DEVICE-FILE
    [ -s "$1.h5" ] && return
    bzcat "$data/$2.HIP.fdb.txt.bz2" >"$2.HIP.fdb.txt" || fail 3 "cannot read $data/$2.HIP.fdb.txt.bz2"
    "$analyze" import "$2.HIP.fdb.txt" -o "$1.h5" 2>"$1.import" || fail 3 "import: $(cat "$1.import")"
}

train() { # MODEL FILE OPTION...: exit 1 of train says that the model is useless, which the table shows, too
    local model=$1 file=$2
    shift 2
    rm -rf "$model"
    "$analyze" train "$file.h5" -o "$model" --seed 1 --threads "$threads" "$@" "${small[@]}" >"$model.txt" 2>"$model.err"
    [ $? -le 1 ] || fail 3 "train: $(tail -n 1 "$model.err")"
}

missed=0
line() { # LABEL REPORT WHO WANTED-MEAN WANTED-P10: "-" without a goal
    local who mean p10 zero zero10 left left10 share verdict=''
    who=$(grep -m 1 "^$3  " "$2") || fail 3 "no line '$3' in $2"
    read -r mean p10 _ _ _ _ zero zero10 _ left left10 share <<<"${who#"$3"}"
    if [ "$4" != - ]; then
        if awk -v m="$mean" -v p="$p10" -v M="$4" -v P="$5" 'BEGIN { exit !(m >= M && p >= P) }'; then
            verdict=met
        else
            verdict=MISSED
            missed=1
        fi
    fi
    printf '%-24s %-22s %6s / %6s   %6s / %6s   %6s / %6s %6s   %s\n' "$1" "$3" "$mean" "$p10" "$zero" \
        "$zero10" "$left" "$left10" "$share" "$([ "$4" = - ] || echo "$4 / $5 $verdict")"
}

rows() { # LABEL REPORT WANTED-MEAN WANTED-P10
    line "$1" "$2" "static order" - -
    line "$1" "$2" "nearest neighbours" - -
    if [ ${#small[@]} -gt 0 ]; then line "$1" "$2" "model" - -; else line "$1" "$2" "model" "$3" "$4"; fi
}

row() { # NAME FILE MEAN P10 OPTION...
    local name=$1 file=$2 mean=$3 p10=$4
    shift 4
    train "$name" "$file" --class-folds=no --settings 2 --search-problems 1500 "$@"
    rows "$name" "$name.txt" "$mean" "$p10"
}

transfer() {
    import gfx942 gfx942130
    import gfx90a gfx90a68
    local from to
    for from in gfx942 gfx90a; do
        to=$([ $from = gfx942 ] && echo gfx90a || echo gfx942)
        train "of-$from" $from --where direction=forward --where dtype=fp16 --where ndim=2 --class-folds=no \
            --settings 1 --search-problems 1500 --rounds 300
        "$analyze" validate "of-$from" $to.h5 --mixed --where direction=forward --where dtype=fp16 --where ndim=2 \
            --threads "$threads" "${small[@]:0:2}" >"$from-$to.txt" 2>"$from-$to.err"
        [ $? -le 1 ] || fail 3 "validate: $(tail -n 1 "$from-$to.err")"
        echo "$from to $to: $(grep -m 1 '^leakage' "$from-$to.txt"); $(grep -m 1 '^coverage' "$from-$to.txt")"
        line "$from to $to" "$from-$to.txt" "static order" - -
        line "$from to $to" "$from-$to.txt" "model" - -
    done
}

# ---- need: which problems to measure next ----

# Lists of one split: a quarter of the problems judges, 60 of the others are measured first, the rest is the
# pool, in a random order. need-class: the 60 are 3x3 layers. need-uses: use counts by Zipf's law in a random
# order of their own; `list.csv` has them all, `total` its time if every pick were the best.
split() { # ROW MODEL SPLIT
    python3 - "$@" <<'PY' || fail 3 "cannot split the problems"
import csv, hashlib, sys
row, model, split = sys.argv[1:]
rows = list(csv.DictReader(open(model + "/problems.csv")))
best = {}
for r in csv.DictReader(open(model + "/oof.csv")):
    best[r["problem_id"]] = min(float(r["time_ns"]), best.get(r["problem_id"], float("inf")))
order = lambda r, salt="": hashlib.sha256((split + salt + r["problem_id"]).encode()).digest()
rows.sort(key=order)
keys = [w.split("=")[0] for w in rows[0]["canonical"].split()]
listed, judges = rows[: 3 * len(rows) // 4], rows[3 * len(rows) // 4 :]
for rank, r in enumerate(sorted(listed, key=lambda r: order(r, "uses")), 1):
    r["count"] = max(1, round(10000 / rank)) if row == "need-uses" else 1
first = [r for r in listed if row != "need-class" or r["class"] == "3x3"][: 60]
def put(name, part):
    with open(name, "w") as f:
        f.write(",".join(keys + ["count"]) + "\n")
        for r in part:
            f.write(",".join([w.split("=")[1] for w in r["canonical"].split()] + [str(r.get("count", 1))]) + "\n")
put("known-60.csv", first)
put("pool.csv", [r for r in listed if r not in first])
put("list.csv", listed)
put("judge.csv", judges)
print(sum(r["count"] * best[r["problem_id"]] for r in listed), file=open("total", "w"))
PY
}

# The problems of LIST that are not in KNOWN; both lists, with the columns of the first.
left() { # KNOWN LIST
    python3 -c 'import sys
a, b = ([l for l in open(f)] for f in sys.argv[1:])
print("".join(b[:1] + [l for l in b[1:] if l not in set(a)]), end="")' "$@"
}
joined() { # LIST LIST
    python3 - "$@" <<'PY'
import csv, sys
a, b = (list(csv.DictReader(open(f))) for f in sys.argv[1:])
print(",".join(a[0]))
for r in a + b:
    print(",".join(r[k] for k in a[0]))
PY
}
heaviest() { # LIST N: `count` is the last column
    head -n 1 "$1"
    tail -n +2 "$1" | sed 's/.*,//' | paste -d , - <(tail -n +2 "$1") | sort -s -t , -k 1,1nr | head -n "$2" | cut -d , -f 2-
}

# What a model of known-N.csv reaches, into FIGURES: mean and P10 on the judges; regret: what its picks cost
# the whole list, weighted by time and use counts, less 1, where what is measured gets its best.
judge() { # SPLIT HOW N FIGURES
    local on
    train known gfx942 "${where[@]}" --problems "known-$3.csv" --class-folds=no --folds 3 --settings 1 \
        --rounds 60
    for on in judge list; do
        "$analyze" validate known gfx942.h5 "${where[@]}" --problems $on.csv --network $on.csv --json \
            --threads "$threads" >$on.json 2>need.err
        [ $? -le 1 ] || fail 3 "validate: $(tail -n 1 need.err)"
    done
    python3 - "$@" <<'PY' || fail 3 "cannot read what validate printed"
import json, sys
split, how, n, figures = sys.argv[1:]
model = next(c["among_measured"] for c in json.load(open("judge.json"))["validation"]["choosers"] if c["name"] == "model")
rest = json.load(open("list.json"))["networks"][0] # what is not measured
regret = rest["regret"]["model"] * rest["best_ns"] / float(open("total").read())
with open(figures, "a") as f:
    for name, value in ("mean", model["mean"]), ("P10", model["p10"]), ("regret", regret):
        print(split, how, n, name, value, file=f)
PY
}

# Each step measures what the model of the step before chooses, or the next of the random order.
need_steps() { # ROW SPLIT HOW
    local n last=60
    split "$1" whole "$2"
    : >steps
    [ "$3" != need ] || judge "$2" start 60 steps
    for n in 120 240 480; do
        left "known-$last.csv" pool.csv >rest.csv
        case $3 in
        need) "$analyze" need known --problems rest.csv -n $((n - last)) -o chosen.csv >/dev/null 2>need.err ||
            fail 3 "need: $(cat need.err)" ;;
        heaviest) heaviest rest.csv $((n - last)) >chosen.csv ;;
        random) head -n $((n - last + 1)) rest.csv >chosen.csv ;;
        esac
        joined "known-$last.csv" chosen.csv >"known-$n.csv"
        judge "$2" "$3" $n steps
        last=$n
    done
    cat steps >>"$1.figures"
}

# What is in the table of figures already is not run again.
need() { # ROW
    import gfx942 gfx942130
    local where=(--where direction=forward --where dtype=fp16) small=() split how hows="need random"
    [ "$1" != need-uses ] || hows="need random heaviest"
    [ -d whole ] || train whole gfx942 "${where[@]}" --class-folds=no --settings 1 --rounds 30
    touch "$1.figures"
    for ((split = 1; split <= splits; split++)); do
        for how in $hows; do
            grep -q "^$split $how " "$1.figures" || need_steps "$1" "$split" "$how"
        done
    done
    python3 - "$1" "$splits" <<'PY'
import statistics as st, sys
row, splits = sys.argv[1], int(sys.argv[2])
by = {}
for line in open(row + ".figures"):
    split, how, n, name, value = line.split()
    if int(split) <= splits:
        by.setdefault((int(n), how), {}).setdefault(name, {})[int(split)] = float(value)
t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
for (n, how), figures in sorted(by.items()):
    text = ", ".join("%s %.4f" % (name, st.mean(v.values())) for name, v in figures.items())
    print("%-11s %3d problems, %-9s %s" % (row, n, how, text))
for (n, how), figures in sorted(by.items()):
    for other in ("random", "heaviest"):
        for name in figures if how == "need" and (n, other) in by else ():
            a, b = figures[name], by[n, other][name]
            d = [a[k] - b[k] for k in sorted(set(a) & set(b))]
            half = t.get(len(d), 1.96) * st.stdev(d) / len(d) ** 0.5 if len(d) > 1 else float("nan")
            n_better = sum((x < 0) == (name == "regret") and x != 0 for x in d)
            print("%-11s %3d problems, need less %-9s %-6s %+.4f [%+.4f, %+.4f], better in %d of %d" %
                  (row, n, other, name, st.mean(d), st.mean(d) - half, st.mean(d) + half, n_better, len(d)))
PY
}

printf '%-24s %-22s %-15s   %-15s   %-15s %6s   %s\n' data who "mean / P10" "unmeasured = 0" "left out" share "to reach"
for name in "${names[@]}"; do
    case $name in
    fwd-fp16) import gfx942 gfx942130
              row fwd-fp16 gfx942 .988 .994 --where direction=forward --where dtype=fp16 ;;
    fwd-fp32) import gfx942 gfx942130
              row fwd-fp32 gfx942 .980 .915 --where direction=forward --where dtype=fp32 ;;
    bwd-data-fp32) import gfx942 gfx942130
              row bwd-data-fp32 gfx942 .980 .910 --where direction=backward_data --where dtype=fp32 ;;
    mi210) import gfx90a gfx90a68
           row mi210 gfx90a .972 .885 --where direction=forward --where dtype=fp16 --where ndim=2 ;;
    transfer) transfer ;;
    need | need-class | need-uses) need "$name" ;;
    esac
done
exit $missed
