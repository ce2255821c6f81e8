# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# gpu-parts.sh - sourced behind fake-hip.sh: small inputs of all parts of tests/gpu/run.sh in in/.
#
#   run STATUS WHAT DIR PART..   run.sh with its reports in DIR ends with that status
cd "$tap_tmp" || exit 1

mkdir in
filter="tile_n == 32"
for part in conformance verify_forward verify_backward_data verify_backward_weight verify_gemm peer sweep repeat; do
    case $part in sweep | repeat) problems=2 ;; *) problems=1 ;; esac
    gpu_job "$problems" "$filter" >"$part.json"
    ksweep plan "$part.json" --export-grid "in/$part.grid" || exit 1
done
export KSWEEP_GPU_LIMIT=2400 KSWEEP_GPU_SHARE=0 # on a busy machine, behind an emulator
export KSWEEP_GPU_INPUTS=$tap_tmp/in KSWEEP_GPU_BACKEND=hip KSWEEP_GPU_CACHE=$tiny_cache
export KSWEEP_GPU_BUILD=${KSWEEP_BIN%/bin}
unset KSWEEP_CUDNN
gpu=$KSWEEP_BIN/ksweep-gpu
run() { # STATUS WHAT DIR PART..
    local status=$1 what=$2 dir=$3
    shift 3
    rc_is "$status" "$what" env OUT="$tap_tmp/$dir" timeout 900 "$KSWEEP_SOURCE_DIR/tests/gpu/run.sh" "$@"
}
