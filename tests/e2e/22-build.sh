#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep build: what is built, cached, failed and unsupported; a second run compiles nothing.
# quick: yes
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
rc_is 0 "a job is built" ksweep build "$tap_tmp/k/good.json" -j 1
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

# --- the manifest: every instance, whatever became of it

manifest() { # EXPRESSION over rows {name: row}, of $tap_tmp/m.json
    python3 -c 'import json, sys
doc = json.load(open(sys.argv[1])); rows = {r["name"]: r for r in doc["instances"]}
print(eval(sys.argv[2]))' "$tap_tmp/m.json" "$1"
}
KSWEEP_CPU_FLAGS=sse2 rc_is 1 "a manifest" ksweep build "$tap_tmp/k/mixed.json" -j 2 \
    --manifest "$tap_tmp/m.json"
is "$(manifest 'len(rows), sorted({r["state"] for r in rows.values()})')" \
    "(7, ['build_failed', 'ready', 'unsupported'])" "lists every instance"
is "$(manifest 'all(len(r["digest"]) == 64 and r["compile_ns"] > 0 and r["code_bytes"] > 0
    and r["object_bytes"] > 0 and r["compiler"] and r["path"] and not r["reason"]
    for r in rows.values() if r["state"] == "ready")')" True "digest, time, sizes and compiler"
is "$(manifest '("broken on purpose" in rows["unit_6_compile"]["reason"],
    "avx512f" in rows["unit_7_w1"]["reason"], rows["unit_6_compile"]["digest"])')" \
    "(True, True, None)" "and reasons where there is no object"
is "$(sha256sum <"$(manifest 'rows["unit_1"]["path"]')" | cut -c 1-64)" \
    "$(manifest 'rows["unit_1"]["digest"]')" "the digest is that of the file"
KSWEEP_CPU_FLAGS=sse2 rc_is 1 "a manifest as CSV" ksweep build "$tap_tmp/k/mixed.json" \
    --manifest "$tap_tmp/m.csv"
is "$(python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
print(len(rows), rows[5]["state"], "broken on purpose" in rows[5]["reason"], rows[0]["cached"])' \
    "$tap_tmp/m.csv")" "7 build_failed True 1" "says the same"

# --- limits: what one compiler run may use

cat >"$tap_tmp/greedy" <<'END'
#!/bin/sh
grep -q 'KT_FAULT 3' unit.c 2>/dev/null && { [ -n "$GREEDY_SLEEPS" ] && sleep 60; ulimit -v 1000000; tail /dev/zero; }
exec cc "$@"
END
chmod +x "$tap_tmp/greedy"
export KSWEEP_CC=$tap_tmp/greedy
job slow '{"index": [1, 2]}, {"index": 3, "fault": "slow"}'
rc_is 1 "a greedy compiler" ksweep build "$tap_tmp/k/slow.json" --memory-mib 150 --json
is "$(field built) $(field failed)" "2 1" "is stopped"
like "$(cat "$tap_tmp/out")" "the compiler exceeded 150 MiB" "and says why"
rc_is 1 "with no more memory" ksweep build "$tap_tmp/k/slow.json" --memory-mib 150 --json
is "$(field compiler_runs)" 0 "it is not tried again"
GREEDY_SLEEPS=1 rc_is 1 "with more it is" ksweep build "$tap_tmp/k/slow.json" --memory-mib 151 \
    --timeout 1 --json
is "$(field compiler_runs) $(field timed_out)" "1 1" "and now it is too slow"
unset KSWEEP_CC

# --- compilers as traits

job two '{"index": [51, 52], "compiler": ["gcc", "clang", "nocc"]}'
KSWEEP_CC=cc KSWEEP_CC_CLANG='cc -DOTHER' rc_is 0 "compilers as a trait" ksweep build \
    "$tap_tmp/k/two.json" --json
is "$(field built) $(field unsupported)" "4 2" "one that is not installed has no instances"
like "$(cat "$tap_tmp/out")" "compiler nocc is not installed" "and says so"

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
