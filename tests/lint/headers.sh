#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every header compiles alone, and twice; those of kernels as their units do, for the emulator.
. "$(dirname "$0")/lib.sh"
need gcc xargs

# Packages whose headers do not lie in /usr/include; a missing one shows as an error below.
flags="$(pkg-config --cflags hwloc hdf5 2>/dev/null) $(mpicc --showme:compile 2>/dev/null)"
export flags

compile_alone() {
    local name=${1#src/} out
    # shellcheck disable=SC2086
    out=$(printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
        gcc -x c -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wstrict-prototypes -Werror -fsyntax-only \
            -Isrc -I. -Ikernels -DKS_GPU_TARGET=3 $flags - 2>&1) || printf '%s:1: %s\n' "$1" "$(grep -m1 error <<<"$out")"
}
export -f compile_alone

# shellcheck disable=SC2016
sources h src analysis kernels |
    xargs -r -P2 -I{} bash -c 'compile_alone "$1"' compile_alone {} | sort | verdict
