#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep build for AMD's GPUs without one: code objects by clang-19, failures, shipped kernels.
# group: clang19
. "$(dirname "$0")/tap.sh"
need_program ksweep python3 cc clang-19
unset KSWEEP_CC
export XDG_CACHE_HOME=$tap_tmp/xdg KSWEEP_HIPCC=clang-19

mkdir "$tap_tmp/k"
cp "$KSWEEP_SOURCE_DIR"/tests/fake/gpu_unit.{k,h,family.json} "$tap_tmp/k"
head -n 2 "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" >"$tap_tmp/k/one.csv"

job() { # NAME ARCH CONFIG [DTYPE]: a job over it
    echo "{\"name\": \"$1\", \"operator\": \"grouped_conv\",
           \"kernels\": [{\"config\": \"$3\"}], \"problems\": [{\"file\": \"one.csv\", \"dtype\": \"${4:-fp32}\"}],
           \"device\": {\"backend\": \"hip\", \"arch\": \"$2\"}}" >"$tap_tmp/k/$1.json"
}
units() { # NAME ARCH INSTANCES: a job over the fake family
    echo "{\"family\": \"gpu_unit.family.json\", \"instances\": [$3]}" >"$tap_tmp/k/$1.config.json"
    job "$1" "$2" "$1.config.json"
}
field() { # EXPRESSION over the summary d in $tap_tmp/out
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
        "$tap_tmp/out" "$1"
}

units broken gfx90a '{"index": [1, 2, 3]}, {"index": 3, "fault": ["device", "host"]}'
rc_is 1 "two broken instances" ksweep build "$tap_tmp/k/broken.json" --json
is "$(field 'd["built"], d["failed"]')" "(3, 2)" "leave the others alone"
like "$(field 'sorted(i["reason"][-40:] for i in d["instances"] if i["reason"])')" \
    "device half is broken on purpose.*host half is broken on purpose" "each has its reason"
is "$(field 'len({i["code_id"] for i in d["instances"] if i["state"] == "ready"})')" 3 "three kernels"
rc_is 1 "again" ksweep build "$tap_tmp/k/broken.json" --json
is "$(field 'd["compiler_runs"]')" 0 "nothing is compiled"

unset KSWEEP_HIPCC
units unknown gfx9999 '{"index": 1}'
rc_is 1 "an arch that no compiler knows" ksweep build "$tap_tmp/k/unknown.json"
like "$(cat "$tap_tmp/out")" "1: no compiler found that builds for gfx9999; .*invalid target" \
    "in the compiler's words"

job shipped gfx90a "$KSWEEP_SOURCE_DIR/kernels/configs/gpu_forward_small.json" bf16
rc_is 0 "shipped kernels" ksweep build "$tap_tmp/k/shipped.json" --json -j 2
is "$(field 'd["failed"], d["timed_out"], d["built"] >= 4')" "(0, 0, True)" "are built"
is "$(field 'sum(k["distinct"] for k in d["kernels"]) == d["built"]')" True "and all distinct"
done_testing
