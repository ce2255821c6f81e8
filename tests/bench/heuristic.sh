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
#   need                                MI300X forward fp16: regret against the number of problems,
#                                       chosen by `need` and at random, with 95 % intervals of the
#                                       difference over random splits into start, pool and judges
#
#   --build DIR   a configured build tree; default build
#   --data DIR    the find-db files; default $KSWEEP_TEST_DATA/miopen_fdb
#   --out DIR     results files, models and logs; default build/bench/heuristic
#   --threads N   default 2
#   --splits N    of `need`; default 10
#   --small       a first look in minutes: 1x1 convolutions, few trees; goals are not asked for
#
# Exit: 0 every goal met, 1 some missed, 2 wrong usage or no data, 3 a step failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
fail() { # STATUS MESSAGE
    echo "heuristic.sh: $2" >&2
    exit "$1"
}

all="fwd-fp16 fwd-fp32 bwd-data-fp32 mi210 transfer need"
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

# Problem lists of split SPLIT: a quarter of the problems judges, 60 of the others are measured first, the
# rest is the pool, in a random order.
split() { # MODEL SPLIT
    python3 - "$1/problems.csv" "$2" <<'PY' || fail 3 "cannot split the problems"
import csv, hashlib, sys
rows = list(csv.DictReader(open(sys.argv[1])))
rows.sort(key=lambda r: hashlib.sha256((sys.argv[2] + r["problem_id"]).encode()).digest())
keys = [w.split("=")[0] for w in rows[0]["canonical"].split()]
def put(name, part):
    with open(name, "w") as f:
        f.write(",".join(keys) + "\n")
        for r in part:
            f.write(",".join(w.split("=")[1] for w in r["canonical"].split()) + "\n")
n = len(rows)
put("known-60.csv", rows[: 60])
put("pool.csv", rows[60 : 3 * n // 4])
put("judge.csv", rows[3 * n // 4 :])
PY
}

# The pool's problems that are not in LIST; both lists, with the columns of the first.
left() { # LIST
    python3 -c 'import sys
a, b = ([l for l in open(f)] for f in sys.argv[1:])
print("".join(b[:1] + [l for l in b[1:] if l not in set(a)]), end="")' "$1" pool.csv
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

# A model of known-N.csv; its mean and P10 on the judges go to need.figures.
judge() { # SPLIT HOW N
    local mean p10
    train known gfx942 "${where[@]}" --problems "known-$3.csv" --class-folds=no --settings 1 --rounds 200
    "$analyze" validate known gfx942.h5 "${where[@]}" "${small[@]:0:2}" --problems judge.csv \
        --threads "$threads" >judged 2>need.err
    [ $? -le 1 ] || fail 3 "validate: $(tail -n 1 need.err)"
    read -r _ mean p10 _ < <(grep -m 1 '^model  ' judged)
    echo "$1 $2 $3 $mean $p10" >>need.figures
}

# Each step measures the choice of the model of the step before, or the next of the random order.
need() {
    import gfx942 gfx942130
    local where=(--where direction=forward --where dtype=fp16) split n how last
    train whole gfx942 "${where[@]}" --class-folds=no --settings 1 --rounds 30
    : >need.figures
    for ((split = 1; split <= splits; split++)); do
        for how in need random; do
            split whole "$split"
            last=60
            [ $how = random ] || judge "$split" start 60
            for n in 120 240 480; do
                left "known-$last.csv" >rest.csv
                if [ $how = need ]; then
                    "$analyze" need known --problems rest.csv -n $((n - last)) -o chosen.csv >/dev/null 2>need.err ||
                        fail 3 "need: $(cat need.err)"
                else
                    head -n $((n - last + 1)) rest.csv >chosen.csv
                fi
                joined "known-$last.csv" chosen.csv >"known-$n.csv"
                judge "$split" $how $n
                last=$n
            done
        done
    done
    python3 - need.figures <<'PY'
import statistics as st, sys
rows = [l.split() for l in open(sys.argv[1])]
by = {}
for split, how, n, mean, p10 in rows:
    by.setdefault((int(n), how), []).append((float(mean), float(p10)))
t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
for (n, how), v in sorted(by.items()):
    print("%-24s mean / P10 %.4f / %.4f over %d splits" % ("%d problems, %s" % (n, how), st.mean(a for a, _ in v), st.mean(b for _, b in v), len(v)))
for n in sorted({n for n, how in by if how == "need"}):
    for i, name in ((0, "mean"), (1, "P10")):
        d = [a[i] - b[i] for a, b in zip(by[n, "need"], by[n, "random"])]
        half = t.get(len(d), 1.96) * st.stdev(d) / len(d) ** 0.5 if len(d) > 1 else float("nan")
        print("%-24s %-4s %+.4f [%+.4f, %+.4f], better in %d of %d" % ("%d, need less random" % n, name, st.mean(d), st.mean(d) - half, st.mean(d) + half, sum(x > 0 for x in d), len(d)))
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
    need) need ;;
    esac
done
exit $missed
