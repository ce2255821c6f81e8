#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heuristic.sh [--build DIR] [--data DIR] [--out DIR] [--threads N] [--small] [NAME...] - what selectors trained
# on MIOpen's find-db reach, by 5-fold grouped cross-validation with fixed seeds: mean / P10 among the
# measured candidates, the two other lines, static order beside them; what is to be reached; met or
# MISSED. docs/benchmarks.md says more.
#
#   fwd-fp16 fwd-fp32 bwd-data-fp32     MI300X (gfx942)
#   mi210                               MI210 (gfx90a), forward fp16, 2-D
#   transfer                            forward fp16, 2-D, one device's model on the other's data
#   need                                MI300X forward fp16: regret against the number of problems,
#                                       chosen by `need` and at random
#
#   --build DIR   a configured build tree; default build
#   --data DIR    the find-db files; default $KSWEEP_TEST_DATA/miopen_fdb
#   --out DIR     results files, models and logs; default build/bench/heuristic
#   --threads N   default 2
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
build=$root/build data=${KSWEEP_TEST_DATA:-}/miopen_fdb out='' threads=2 names=() small=()
while [ $# -gt 0 ]; do
    case $1 in
    --build | --data | --out | --threads)
        [ $# -ge 2 ] || fail 2 "$1 needs a value"
        case $1 in --build) build=$2 ;; --data) data=$2 ;; --out) out=$2 ;; --threads) threads=$2 ;; esac
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

# A quarter of the problems judges; of the others 60 are measured first, the rest is the pool.
need() {
    import gfx942 gfx942130
    local where=(--where direction=forward --where dtype=fp16) n how
    train whole gfx942 "${where[@]}" --class-folds=no --settings 1 --rounds 100
    python3 - whole/problems.csv <<'PY' || fail 3 "cannot split the problems"
import csv, hashlib, sys
rows = list(csv.DictReader(open(sys.argv[1])))
rows.sort(key=lambda r: hashlib.sha256(r["problem_id"].encode()).digest())
keys = [w.split("=")[0] for w in rows[0]["canonical"].split()]
def put(name, part):
    with open(name, "w") as f:
        f.write(",".join(keys) + "\n")
        for r in part:
            f.write(",".join(w.split("=")[1] for w in r["canonical"].split()) + "\n")
n = len(rows)
put("start.csv", rows[: 60])
put("pool.csv", rows[60 : 3 * n // 4])
put("judge.csv", rows[3 * n // 4 :])
PY
    for n in 60 120 240 480; do
        for how in need random; do
            cp start.csv $how-$n.csv
            if [ $n -gt 60 ]; then
                if [ $how = need ]; then
                    "$analyze" need need-60 --problems pool.csv -n $((n - 60)) -o chosen.csv >/dev/null 2>need.err ||
                        fail 3 "need: $(cat need.err)"
                    python3 - start.csv chosen.csv >need-$n.csv <<'PY'
import csv, sys
a, b = (list(csv.DictReader(open(f))) for f in sys.argv[1:])
print(",".join(a[0]))
for r in a + b:
    print(",".join(r[k] for k in a[0]))
PY
                else
                    sed -n "2,$((n - 60 + 1))p" pool.csv >>random-$n.csv
                fi
            fi
            train $how-$n gfx942 "${where[@]}" --problems $how-$n.csv --class-folds=no --settings 1 --rounds 200
            "$analyze" validate $how-$n gfx942.h5 "${where[@]}" "${small[@]:0:2}" --problems judge.csv \
                --threads "$threads" >$how-$n.judged 2>need.err
            [ $? -le 1 ] || fail 3 "validate: $(tail -n 1 need.err)"
            line "$n problems, $how" $how-$n.judged model - -
        done
    done
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
