#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every header compiles alone, and twice; those of kernels as their units do, for the emulator.
. "$(dirname "$0")/lib.sh"
need gcc xargs

# Packages whose headers do not lie in /usr/include; a missing one shows as an error below.
flags="$(pkg-config --cflags hwloc hdf5 2>/dev/null) $(mpicc --showme:compile 2>/dev/null)"
export flags

include_twice() { # HEADER
    printf '#include "%s"\n#include "%s"\n' "${1#src/}" "${1#src/}"
}
compile() { # FILE... or - : as the tree does, for the emulator
    # shellcheck disable=SC2086
    gcc -x c -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wstrict-prototypes -Werror -fsyntax-only \
        -Isrc -I. -Ikernels -DKS_GPU_TARGET=3 $flags "$@"
}
# One start of gcc for all; only when that fails, one for each.
compile_alone() { # HEADER...
    local dir h i=0 out
    dir=$(mktemp -d) || exit 1
    for h; do include_twice "$h" >"$dir/$((i++)).c"; done
    compile "$dir"/*.c 2>/dev/null || for h; do
        out=$(include_twice "$h" | compile - 2>&1) || printf '%s:1: %s\n' "$h" "$(grep -m1 error <<<"$out")"
    done
    rm -rf "$dir"
}
export -f include_twice compile compile_alone

# shellcheck disable=SC2016
sources h src analysis kernels |
    xargs -r -P2 -n 40 bash -c 'compile_alone "$@"' compile_alone | sort | verdict
