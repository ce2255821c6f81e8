#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep build: what is built, cached, failed and unsupported; a second run compiles nothing.
. "$(dirname "$0")/tap.sh"
need_program ksweep python3 cc
unset KSWEEP_CC
export XDG_CACHE_HOME=$tap_tmp/xdg

mkdir "$tap_tmp/k"
cp "$KSWEEP_SOURCE_DIR"/tests/fake/unit.{k,h,family.json} "$tap_tmp/k"
head -n 2 "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" >"$tap_tmp/k/one.csv"

job() { # NAME INSTANCES: a job over the fake family
    echo "{\"family\": \"unit.family.json\", \"instances\": [$2]}" >"$tap_tmp/k/$1.config.json"
    echo "{\"name\": \"$1\", \"operator\": \"grouped_conv\",
           \"kernels\": [{\"config\": \"$1.config.json\"}], \"problems\": [{\"file\": \"one.csv\"}],
           \"device\": {\"backend\": \"host\"}}" >"$tap_tmp/k/$1.json"
}
field() { # NAME: of the summary in $tap_tmp/out
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tap_tmp/out" "$1"
}

job good '{"index": [1, 2, 3]}'
rc_is 0 "a job is built" ksweep build "$tap_tmp/k/good.json"
like "$(cat "$tap_tmp/out")" "built +3" "all three instances"
like "$(cat "$tap_tmp/err")" "unit 1/1: 3 of 3 ready" "progress goes to stderr"
rc_is 0 "and again" ksweep build "$tap_tmp/k/good.json" --json
is "$(field compiler_runs) $(field built) $(field cached)" "0 0 3" "compiles nothing"
is "$(stat -c %a "$XDG_CACHE_HOME/ksweep")" 700 "the cache is private"

job mixed '{"index": [1, 2, 3, 4, 5]}, {"index": 6, "fault": "compile"}, {"index": 7, "wide": 1}'
KSWEEP_CPU_FLAGS=sse2 rc_is 1 "one broken instance" ksweep build "$tap_tmp/k/mixed.json" --json -j 2
is "$(field built) $(field cached) $(field failed) $(field unsupported)" "2 3 1 1" \
    "costs nothing but itself"
like "$(grep unit_6_compile -A 12 "$tap_tmp/out")" 'error: #error .*this instance is broken on purpose' \
    "its reason is the compiler's first error line"
KSWEEP_CPU_FLAGS=sse2 rc_is 1 "its failure is remembered" ksweep build "$tap_tmp/k/mixed.json" --json
is "$(field compiler_runs) $(field failed)" "0 1" "without a compiler run"

sed -i 's/0\.5f/0.25f/' "$tap_tmp/k/unit.h"
rc_is 0 "a changed header" ksweep build "$tap_tmp/k/good.json" --json
is "$(field built) $(field cached)" "3 0" "builds all again"
rc_is 0 "another cache" ksweep build "$tap_tmp/k/good.json" --json --cache "$tap_tmp/c" --unit-size 1
is "$(field built) $(field compiler_runs)" "3 6" "and units of one"

chmod g+w "$tap_tmp/c"
rc_is 2 "a cache that others may write" ksweep build "$tap_tmp/k/good.json" --cache "$tap_tmp/c"
like "$(cat "$tap_tmp/err")" "'$tap_tmp/c' is writable by others.*--trust-cache" "is refused by name"
rc_is 0 "unless trusted" ksweep build "$tap_tmp/k/good.json" --cache "$tap_tmp/c" --trust-cache

rc_is 2 "no compiler" env KSWEEP_CC=/no/such/cc ksweep build "$tap_tmp/k/good.json"
like "$(cat "$tap_tmp/err")" "no C compiler '/no/such/cc': install one" "says what to do"
rc_is 2 "no job" ksweep build
rc_is 2 "an absent job" ksweep build "$tap_tmp/k/none.json"
rc_is 2 "a compiler time of nothing" ksweep build "$tap_tmp/k/good.json" --timeout 0
done_testing
