#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A job of several directions: an instance has cells with the problems that it computes, and no
# others. Counts, tables, --resume and --extend know of none besides.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-worker ksweep-analyze python3
. "$(dirname "$0")/sweep.sh"
export XDG_CACHE_HOME=$tap_tmp/cache
cd "$tap_tmp" || exit 1

job() { # FILE DIRECTIONS KERNELS...
    local file=$1 directions=$2 k list=
    shift 2
    for k in "$@"; do
        list+="${list:+, }{ \"config\": \"$KSWEEP_SOURCE_DIR/kernels/configs/host_$k.json\", \"filter\": \"vector_bytes == 16\" }"
    done
    cat >"$file" <<JSON
{ "name": "several", "operator": "grouped_conv", "device": { "backend": "sim", "arch": "ns=1000" },
  "kernels": [$list],
  "problems": [{ "file": "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv", "directions": [$directions] }],
  "measure": { "warmup_ms": 0, "min_samples": 3, "max_ms": 5 },
  "verify": { "exact": false, "elementwise": false } }
JSON
}
n_of() { ksweep kernels "$KSWEEP_SOURCE_DIR/kernels/configs/host_$1.json" --filter 'vector_bytes == 16' | wc -l; }
problems_are() { # DIR COMPLETE PARTIAL UNTOUCHED
    is "$(field "$1" complete) $(field "$1" partial) $(field "$1" untouched)" "$2 $3 $4" \
        "$1: $2 problems complete, $3 partial, $4 untouched"
}
pairs() { # "DIRECTION OF THE PROBLEM AND OF THE INSTANCE, BY ITS NAME" of each row, counted
    ksweep-analyze table "$1/results.h5" | python3 -c '
import collections, csv, sys
n = collections.Counter(
    r["direction"] + " " + r["instance_name"].split("_conv_")[1].split("_fp32")[0] for r in csv.DictReader(sys.stdin))
print(*(f"{k}: {v}" for k, v in sorted(n.items())), sep=", ")'
}

n_fwd=$(n_of forward_quick) n_data=$(n_of backward_data) n_weight=$(n_of backward_weight)
n_both=$((3 * n_fwd + 3 * n_data))
fwd='"forward"' data='"backward_data"' weight='"backward_weight"'
job two.json "$fwd, $data" forward_quick backward_data
job three.json "$fwd, $data, $weight" forward_quick backward_data
job all.json "$fwd, $data, $weight" forward_quick backward_data backward_weight
job none.json "$weight" forward_quick backward_data

# --- the plan
rc_is 0 'plan' ksweep plan two.json
like "$(cat out)" "^6 problems x $((n_fwd + n_data)) instances, $n_both of $((6 * (n_fwd + n_data))) pairs are cells; 0 " \
    'half of the pairs are cells'
not_ok 'every problem has some' grep -q 'have no cell' out
rc_is 0 'plan with problems that no kernel is for' ksweep plan three.json
like "$(cat out)" '^3 problems have no cell: no instance computes their direction,' 'tells of them'

job wide.json "$fwd" forward_quick backward_data
rc_is 0 'plan with kernels that no problem is for' ksweep plan wide.json
like "$(cat out)" "^$n_data instances have no cell: no problem has their operator, direction," 'tells of them, too'

# --- a run, stopped before its first cell and resumed
rc_is 3 'no time' ksweep run two.json --out d --max-time 1ms
is "$(field d cells) $(field d pending)" "$n_both $n_both" 'all cells are pending'
rc_is 0 'resumed' ksweep run two.json --out d --resume
is "$(field d cells) $(field d done) $(field d pending)" "$n_both $n_both 0" 'all cells are done'
is "$(outcomes d)" "$n_both" 'nothing else has an outcome'
problems_are d 6 0 0
is "$(pairs d)" "backward_data backward_data: $((3 * n_data)), forward forward: $((3 * n_fwd))" \
    'the table pairs like with like'
is "$(python3 -c 'import json; print(json.load(open("d/status.json"))["cells"])')" "$n_both" \
    'status.json counts the same'
rc_is 0 'resumed again' ksweep run two.json --out d --resume
is "$(field d done) $(field d pending)" "$n_both 0" 'there is nothing left to do'

# --- a grid that grows
rc_is 0 'three problems without kernels more' ksweep run three.json --out d --extend
like "$(cat err)" '3 of 9 problems have no cell: no instance of the job computes' 'the log tells of them'
is "$(field d cells) $(field d pending)" "$n_both 0" 'there are no more cells'
problems_are d 9 0 0
n_all=$((n_both + 3 * n_weight))
rc_is 0 'and their kernels' ksweep run all.json --out d --extend
is "$(field d cells) $(field d done) $(field d pending)" "$n_all $n_all 0" 'they have cells now'
problems_are d 9 0 0
is "$(pairs d)" "backward_data backward_data: $((3 * n_data)), backward_weight backward_weight: $((3 * n_weight)), forward forward: $((3 * n_fwd))" \
    'and stand in the table'
ok 'journal and results.h5 agree' ksweep check d

# --- what is no cell
problem=$(ksweep problems --list "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" | sed -n '2s/,.*//p')
instance=$(ksweep kernels "$KSWEEP_SOURCE_DIR/kernels/configs/host_backward_data.json" \
    --filter 'vector_bytes == 16' | sed -n '1s/ .*//p')
rc_is 2 'a pair that is no cell' ksweep cell d "$problem:$instance"
like "$(cat err)" "is not a cell of 'd': instance is grouped_conv backward_data fp32 .*nhwgc, problem is grouped_conv forward fp32 2d nhwgc" \
    'is told why'
for c in plan run; do
    rc_is 2 "$c: kernels of other directions only" ksweep $c none.json
    like "$(cat err)" "none.json': no instance of the job computes any of its problems; for example, instance is" \
        'are an error'
done
not_ok 'nothing is written' test -e several.ksweep
done_testing
