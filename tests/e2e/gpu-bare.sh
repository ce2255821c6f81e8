# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# gpu-bare.sh - sourced behind tap.sh: a machine with a GPU and a compiler. The worker and ksweep-gpu
# are built from libc alone, and run (over the fake HIP runtime).
#
#   check WHAT DIR PART VARIABLE=VALUE..   tests/gpu/run.sh builds in DIR/build, and PART passes
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

mkdir in
gpu_job 1 "tile_m == 16 and tile_n == 32" >conformance.json
ksweep plan conformance.json --export-grid in/conformance.grid || exit 1
export KSWEEP_GPU_INPUTS=$tap_tmp/in KSWEEP_GPU_BACKEND=hip KSWEEP_GPU_CACHE=$tiny_cache
export CFLAGS=-O0 CMAKE_BUILD_TYPE=None # neither optimised nor for a debugger: the least to compile
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CC='ccache cc' CCACHE_NOHASHDIR=1
fi
unset KSWEEP_GPU_BUILD
check() { # WHAT DIR PART VARIABLE=VALUE..
    local what=$1 dir=$2 part=$3
    shift 3
    rc_is 0 "$what" env OUT="$tap_tmp/$dir" "$@" "$KSWEEP_SOURCE_DIR/tests/gpu/run.sh" "$part"
    unlike "$(ldd "$dir/build/bin/ksweep-worker" "$dir/build/bin/ksweep-gpu" 2>&1)" \
        'mpi|hdf5|hwloc|json|amdhip|cuda|not found|No such' "$what: both programs need libc alone"
    is "$(find "$dir/build" -name '*json*.o')" '' "$what: no source of JSON is compiled"
}
