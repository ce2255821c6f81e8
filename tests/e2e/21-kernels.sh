#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep kernels: instances of a config, what rules exclude, what a CPU lacks, filters, errors.
. "$(dirname "$0")/tap.sh"
need_program ksweep python3
config=$KSWEEP_SOURCE_DIR/tests/data/grid/tiny.json
export KSWEEP_CPU_FLAGS="sse2 fma"

rc_is 0 "a config is listed" ksweep kernels "$config"
is "$(awk '{ print $2 }' "$tap_tmp/out" | tr '\n' ' ')" \
    "t_slow_m1 t_slow_m2 t_slow_m14 t_fast_m1 t_fast_m2 t_slow_m2_sm1x t_slow_m2_s1x t_slow_m4_s1x t_slow_m4 " \
    "in the config's order"
like "$(grep m14 "$tap_tmp/out")" "needs avx512f, this CPU lacks it" "what is missing is said"
is "$(awk '$2 == "t_slow_m1" { print $1 }' "$tap_tmp/out")" \
    "$(printf 'family=tiny abi=1 pipe=slow tile_m=1 shift=0 fixed=7' | sha256sum | cut -c1-16)" \
    "ids are the beginning of the digest of the canonical line"

rc_is 0 "counts" ksweep kernels "$config" --count --json
is "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["families"], d["instances"], d["can_run"], d["excluded"], [r["excluded"] for r in d["rules"]])' \
    "$tap_tmp/out")" "1 9 8 3 [1, 2]" "instances, those that can run, exclusions by rule"
rc_is 0 "another arch" ksweep kernels "$config" --arch x86-64-v4 --count
like "$(cat "$tap_tmp/out")" "can run +9" "runs all"
rc_is 0 "a filter" ksweep kernels "$config" --filter "pipe == 'fast' and c.tile_m in [2, 4]"
is "$(wc -l <"$tap_tmp/out")" 1 "keeps one"
rc_is 0 "export" ksweep kernels "$config" --export "$tap_tmp/k.csv"
is "$(python3 -c 'import csv, sys
r = list(csv.DictReader(open(sys.argv[1])))
print(len(r), r[5]["name"], r[5]["pipe"], r[5]["tile_m"], r[5]["shift"], r[5]["fixed"], r[2]["missing"])' \
    "$tap_tmp/k.csv")" "9 t_slow_m2_sm1x slow 2 -1 7 needs avx512f, this CPU lacks it" \
    "has one column per trait"

rc_is 2 "a filter with an error" ksweep kernels "$config" --filter "tile_m >= 2 and"
like "$(cat "$tap_tmp/err")" "column 16: unexpected end" "points at the column"
is "$(wc -l <"$tap_tmp/err")" 1 "in one line"
rc_is 2 "a filter with an unknown name" ksweep kernels "$config" --filter "tile_n == 2"
like "$(cat "$tap_tmp/err")" "unknown name 'tile_n', did you mean 'tile_m'" "names the nearest"
rc_is 2 "a filter that keeps nothing" ksweep kernels "$config" --filter "tile_m == 3"
rc_is 2 "an absent config" ksweep kernels "$tap_tmp/none.json"
like "$(cat "$tap_tmp/err")" "none.json" "is named"
printf '{ "family": "%s",\n  "instances": [{ "tile_m": 5 }] }\n' \
    "$KSWEEP_SOURCE_DIR/tests/data/grid/tiny.family.json" >"$tap_tmp/bad.json"
rc_is 2 "a wrong value" ksweep kernels "$tap_tmp/bad.json"
like "$(cat "$tap_tmp/err")" "bad.json:2: instances\[0\].tile_m: '5' is no value of trait 'tile_m'" \
    "is named with file, line and key"
rc_is 2 "an unknown arch" ksweep kernels "$config" --arch x86-64-v5
rc_is 2 "an unknown command" ksweep kernel "$config"
like "$(cat "$tap_tmp/err")" "did you mean 'kernels'" "names the nearest"

unset KSWEEP_CPU_FLAGS
for c in "$KSWEEP_SOURCE_DIR"/kernels/configs/*.json; do
    rc_is 0 "${c##*/} loads" ksweep kernels "$c" --list
    is "$(awk '{ print $1 }' "$tap_tmp/out" | sort | uniq -d)" "" "${c##*/} has no id twice"
done

rc_is 0 "--version" ksweep --version
like "$(cat "$tap_tmp/out")" "^ksweep [0-9]+\.[0-9]+\.[0-9]+" "says which"
rc_is 0 "--help" ksweep --help
like "$(cat "$tap_tmp/out")" "problems" "lists the commands"
rc_is 0 "help --markdown" ksweep help --markdown
like "$(cat "$tap_tmp/out")" "\| .--filter EXPR" "prints the option tables"
rc_is 2 "no command" ksweep

done_testing
