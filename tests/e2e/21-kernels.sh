#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep kernels: instances of a config, what rules exclude, what a CPU lacks, filters, errors.
# quick: yes
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
print(d["families"], d["combinations"], d["instances"], d["can_run"], d["excluded"], d["filtered"],
      [r["excluded"] for r in d["rules"]], [(r["why"], r["instances"]) for r in d["cannot_run"]])' \
    "$tap_tmp/out")" "1 12 9 8 3 0 [1, 2] [('needs avx512f, this CPU lacks it', 1)]" \
    "instances, those that can run, exclusions by rule, reasons"
rc_is 0 "another arch" ksweep kernels "$config" --arch x86-64-v4 --count
like "$(cat "$tap_tmp/out")" "can run +9" "runs all"
rc_is 0 "a filter" ksweep kernels "$config" --filter "pipe == 'fast' and c.tile_m in [2, 4]"
is "$(wc -l <"$tap_tmp/out")" 1 "keeps one"
rc_is 0 "a count behind a filter" ksweep kernels "$config" --count --filter "tile_m < 3 and pipe == 'slow'"
is "$(awk '{ print $1, $2, $3 }' "$tap_tmp/out" | tr '\n' ';')" \
    "families 1 ;combinations 12 ;excluded 3 ;1 tiny: fast;2 tiny: nothing;filtered 5 ;instances 4 ;can run 4;cannot run 0;" \
    "says what was there, excluded, filtered and left"
rc_is 0 "an export as CSV" ksweep kernels "$config" --export "$tap_tmp/k.csv"
is "$(python3 -c 'import csv, sys
r = list(csv.DictReader(open(sys.argv[1])))
print(len(r), r[5]["name"], r[5]["pipe"], r[5]["tile_m"], r[5]["shift"], r[5]["fixed"], r[2]["missing"])' \
    "$tap_tmp/k.csv")" "9 t_slow_m2_sm1x slow 2 -1 7 needs avx512f, this CPU lacks it" \
    "has one column per trait"

rc_is 2 "a filter with an error" ksweep kernels "$config" --filter "tile_m >= 2 and"
like "$(cat "$tap_tmp/err")" "column 16: unexpected end" "points at the column"
is "$(wc -l <"$tap_tmp/err")" 1 "in one line"
rc_is 2 "a filter with an unknown name" ksweep kernels "$config" --filter "tile_n == 2"
like "$(cat "$tap_tmp/err")" "^ksweep kernels: --filter: .*unknown name 'tile_n', did you mean 'tile_m'; known are .*pipe" \
    "names the option, the nearest and all"
rc_is 0 "the traits" ksweep kernels "$config" --traits
like "$(tr -s ' \n' ' ' <"$tap_tmp/out")" 'pipe text slow, fast' "their names and values"
like "$(cat "$tap_tmp/out")" '^    [a-zA-Z].{9,}' "and what they mean"
rc_is 2 "a filter that keeps nothing" ksweep kernels "$config" --filter "tile_m == 3"
rc_is 0 "an installed config by its bare name" ksweep kernels host_forward_quick --count
rc_is 0 "an installed list, too" ksweep problems quickstart.csv
rc_is 2 "a bare name that is nowhere" ksweep kernels host_forwrad
like "$(cat "$tap_tmp/err")" "file 'host_forwrad' not found, did you mean 'host_forward'\?; looked there and in .*kernels/configs of the installed data '" \
    "says where it was looked for"
rc_is 2 "an absent config" ksweep kernels "$tap_tmp/none.json"
like "$(cat "$tap_tmp/err")" "none.json" "is named"
printf '{ "family": "%s",\n  "instances": [{ "tile_m": 5 }] }\n' \
    "$KSWEEP_SOURCE_DIR/tests/data/grid/tiny.family.json" >"$tap_tmp/bad.json"
rc_is 2 "a wrong value" ksweep kernels "$tap_tmp/bad.json"
like "$(cat "$tap_tmp/err")" "bad.json:2: instances\[0\].tile_m: '5' is not a value of trait 'tile_m'" \
    "is named with file, line and key"
rc_is 2 "an unknown arch" ksweep kernels "$config" --arch x86-64-v5
rc_is 2 "an arch of a GPU" ksweep kernels "$config" --arch gfx942 --count
like "$(cat "$tap_tmp/err")" "gfx942 is a GPU, but family tiny is for CPUs" "is none of a family for CPUs"
for arch in x86-64-v4 native; do
    rc_is 2 "$arch" ksweep kernels "$KSWEEP_SOURCE_DIR/tests/data/grid/gpu.json" --arch "$arch" --count
    like "$(cat "$tap_tmp/err")" "is (a|this) CPU, but family gpu is for GPUs: .*--arch gfx942" \
        "is none of a family for GPUs"
done
rc_is 2 "a format without an export" ksweep kernels "$config" --format t1
rc_is 2 "an unknown format" ksweep kernels "$config" --export "$tap_tmp/k" --format t2
rc_is 2 "two results at once" ksweep kernels "$config" --count --list

# Filter files.
printf '# small ones\ntile_m <= 2   # rows\n\nc.pipe == "slow"\n' >"$tap_tmp/lines"
rc_is 0 "a filter file" ksweep kernels "$config" --filter-file "$tap_tmp/lines"
is "$(awk '{ print $2 }' "$tap_tmp/out" | tr '\n' ' ')" \
    "t_slow_m1 t_slow_m2 t_slow_m2_sm1x t_slow_m2_s1x " "all of whose lines must hold"
rc_is 0 "a filter and a filter file" ksweep kernels "$config" --filter-file "$tap_tmp/lines" --filter "shift > 0"
is "$(awk '{ print $2 }' "$tap_tmp/out")" t_slow_m2_s1x "must both hold"
printf 'def filter_config(c):\n    return (c.tile_m in (1, 14) and  # ends\n            c.shift == 0)\n' \
    >"$tap_tmp/filter.py"
rc_is 0 "a Python filter" ksweep kernels "$config" --filter-file "$tap_tmp/filter.py"
is "$(awk '{ print $2 }' "$tap_tmp/out" | tr '\n' ' ')" "t_slow_m1 t_slow_m14 t_fast_m1 " "filters"
printf 'tile_m <= 2\npipe == "slwo"\n' >"$tap_tmp/lines"
rc_is 2 "a mistake in a filter file" ksweep kernels "$config" --filter-file "$tap_tmp/lines"
like "$(cat "$tap_tmp/err")" "$tap_tmp/lines:2:9: 'slwo' is not a value of 'pipe', did you mean 'slow'" \
    "is named with file, line and column"
printf 'import os\ndef filter_config(c): return True\n' >"$tap_tmp/filter.py"
rc_is 2 "any other Python" ksweep kernels "$config" --filter-file "$tap_tmp/filter.py"
like "$(cat "$tap_tmp/err")" "filter.py:1:1: .*def filter_config\(c\): return EXPRESSION" "is told what is accepted"

# An export is a config.
for c in "$config" "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward.json" \
    "$KSWEEP_SOURCE_DIR/tests/data/ck_forward_2d.json" "$KSWEEP_SOURCE_DIR/tests/data/t1/small.json"; do
    name=${c##*/}
    rc_is 0 "$name is exported" ksweep kernels "$c" --export "$tap_tmp/1.json"
    rc_is 0 "its export, too" ksweep kernels "$tap_tmp/1.json" --export "$tap_tmp/2.json"
    ok "to the same bytes" cmp "$tap_tmp/1.json" "$tap_tmp/2.json"
    ok "with the same list" cmp <(ksweep kernels "$c") <(ksweep kernels "$tap_tmp/1.json")
done
sed 's/"traits"/"trait"/' "$tap_tmp/1.json" >"$tap_tmp/2.json"
rc_is 2 "a spoilt export" ksweep kernels "$tap_tmp/2.json"
like "$(cat "$tap_tmp/err")" "2.json:[0-9]+: kernels\[0\].trait: unknown key 'trait'; did you mean 'traits'" \
    "is refused with file, line and key"

# T1: what Python finds in the two published search spaces, in the same order; there and back.
for t in convolution gemm; do
    file=$KSWEEP_TEST_DATA/t1-t4/${t}_milo_T1.json
    [ -e "$file" ] || { tap_note "no $file: KSWEEP_TEST_DATA names the directory of real data"; continue; }
    rc_is 0 "$t: count" ksweep kernels "$file" --count --json
    is "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["combinations"], d["instances"], d["can_run"])' "$tap_tmp/out")" \
        "$([ "$t" = gemm ] && echo 663552 116928 0 || echo 10240 4362 0)" "$t: combinations and what is left"
    ksweep kernels "$file" >"$tap_tmp/list"
    ok "$t: Python finds the same" cmp <(awk '{ print $2 }' "$tap_tmp/list") \
        <(python3 "$KSWEEP_SOURCE_DIR/tests/tools/t1_names.py" "$file")
    rc_is 0 "$t: export as T1" ksweep kernels "$file" --export "$tap_tmp/t1.json" --format t1
    ok "$t: comes back" cmp "$tap_tmp/list" <(ksweep kernels "$tap_tmp/t1.json")
done
rc_is 0 "any set as T1" ksweep kernels "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward.json" \
    --export "$tap_tmp/t1.json" --format t1 --filter "tile_m > 4"
is "$(ksweep kernels "$tap_tmp/t1.json" --count | awk '/^instances/ { print $2 }')" \
    "$(ksweep kernels "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward.json" --count --filter "tile_m > 4" |
        awk '/^instances/ { print $2 }')" "comes back complete"
rc_is 2 "two families as T1" ksweep kernels "$config" "$KSWEEP_SOURCE_DIR/tests/data/ck_forward_2d.json" \
    --export "$tap_tmp/t1.json" --format t1
like "$(cat "$tap_tmp/err")" "a T1 file holds one kernel family" "are refused"
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
