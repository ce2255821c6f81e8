#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep build for GPUs without one: the emulator's kernels, and what is said where no compiler is.
. "$(dirname "$0")/tap.sh"
need_program ksweep python3 cc
unset KSWEEP_CC KSWEEP_HIPCC KSWEEP_NVCC
export XDG_CACHE_HOME=$tap_tmp/xdg ROCM_PATH=$tap_tmp/rocm CUDA_HOME=$tap_tmp/cuda
export KSWEEP_NVRTC_LIBRARY=$tap_tmp/none.so KSWEEP_HIPRTC_LIBRARY=$tap_tmp/none.so

mkdir "$tap_tmp/k" "$tap_tmp/bin"
cp "$KSWEEP_SOURCE_DIR"/tests/fake/gpu_unit.{k,h,family.json} "$tap_tmp/k"
head -n 2 "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" >"$tap_tmp/k/one.csv"

job() { # NAME BACKEND ARCH INSTANCES: a job over the fake family
    echo "{\"family\": \"gpu_unit.family.json\", \"instances\": [$4]}" >"$tap_tmp/k/$1.config.json"
    echo "{\"name\": \"$1\", \"operator\": \"grouped_conv\",
           \"kernels\": [{\"config\": \"$1.config.json\"}], \"problems\": [{\"file\": \"one.csv\"}],
           \"device\": {\"backend\": \"$2\", \"arch\": \"$3\"}}" >"$tap_tmp/k/$1.json"
}
field() { # EXPRESSION over the summary d in $tap_tmp/out
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
        "$tap_tmp/out" "$1"
}
# Programs of this host without the compilers of GPUs.
for p in cc gcc as ld ld.bfd python3 sh cat grep; do
    path=$(command -v $p) && ln -s "$path" "$tap_tmp/bin/$p"
done

# --- the emulator: whole units by the host's compiler

# Its sources are in each image; nothing here depends on how well they are compiled.
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec cc "$@" -O0\n' >"$tap_tmp/quick-cc"
chmod +x "$tap_tmp/quick-cc"
export KSWEEP_CC=$tap_tmp/quick-cc
job emu hip emu '{"index": [1, 2], "twin": [0, 1], "pipeline": ["none", "twice"]}, {"index": 3, "split_k": [1, 4]}'
rc_is 0 "kernels for the emulator" env PATH="$tap_tmp/bin" "$(command -v ksweep)" build "$tap_tmp/k/emu.json" -j 1
like "$(cat "$tap_tmp/out")" "built +10" "are built without any compiler of a GPU"
like "$(cat "$tap_tmp/out")" "kernels +fake_gpu_unit forward fp32 none: 4 distinct of 6" \
    "twins are one kernel, arguments are not, for each pipeline"
like "$(cat "$tap_tmp/out")" "kernels +fake_gpu_unit forward fp32 twice: 2 distinct of 4" "and the other"
rc_is 0 "and again" ksweep build "$tap_tmp/k/emu.json" --json
is "$(field 'd["compiler_runs"], d["cached"]')" "(0, 10)" "nothing is compiled"
is "$(field 'sorted((k["pipeline"], k["ready"], k["distinct"]) for k in d["kernels"])')" \
    "[('none', 6, 4), ('twice', 4, 2)]" "the counts stand in JSON too"
is "$(field '[c["name"] for c in d["compilers"]]')" "[None, 'emu']" "with both compilers"

cd "$tap_tmp" || exit 1
rc_is 0 "a cache by a relative name" ksweep build k/emu.json --cache near --json
is "$(field 'len(d["instances"]), {i["path"][:1] for i in d["instances"]}')" "(10, {'/'})" \
    "is the same from wherever a compiler or a worker runs"

# --- no compiler

unset KSWEEP_CC
job amd hip gfx942 '{"index": [1, 2, 3]}'
rc_is 1 "no compiler for AMD" env PATH="$tap_tmp/bin" "$(command -v ksweep)" build "$tap_tmp/k/amd.json"
like "$(cat "$tap_tmp/out")" "3: no compiler for gfx942 is installed; looked for amdclang, clang-20, clang-19, clang, hipcc in PATH and $tap_tmp/rocm/bin: .*KSWEEP_HIPCC" \
    "says what was looked for and where"
job nv cuda sm_90 '{"index": [1, 2, 3]}'
rc_is 1 "no compiler for NVIDIA" env PATH="$tap_tmp/bin" "$(command -v ksweep)" build "$tap_tmp/k/nv.json"
like "$(cat "$tap_tmp/out")" "3: no compiler for sm_90 is installed; looked for nvcc in PATH and $tap_tmp/cuda/bin" \
    "says so"
rc_is 2 "a compiler that the user names" env KSWEEP_HIPCC=/no/such/clang ksweep build "$tap_tmp/k/amd.json"
like "$(cat "$tap_tmp/err")" "KSWEEP_HIPCC.*clang: cannot be started" "must be there"
printf '#!/bin/sh\necho clang version 99\nexit 0\n' >"$tap_tmp/silent"
chmod +x "$tap_tmp/silent"
rc_is 1 "a compiler that writes nothing" env KSWEEP_HIPCC="$tap_tmp/silent" ksweep build "$tap_tmp/k/amd.json" --json
is "$(field 'sorted(i["state"] for i in d["instances"])')" \
    "['build_failed', 'build_failed', 'build_failed']" "has failed each kernel, not the build"
job native hip native '{"index": 1}'
rc_is 2 "an arch that nobody knows" env KSWEEP_HIP_LIBRARY=/no/such ksweep build "$tap_tmp/k/native.json"
like "$(cat "$tap_tmp/err")" "name one, such as gfx942" "is to be named"
job mixed host native '{"index": 1}'
rc_is 1 "kernels of a GPU on the host" ksweep build "$tap_tmp/k/mixed.json"
like "$(cat "$tap_tmp/out")" "1: family fake_gpu_unit is for backend gpu" "are unsupported"

done_testing
