#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# links.sh BUILD_DIR - what the programs must never need, whatever the build: fork safety and a worker
# that starts on a bare node follow from the link line.
. "$(dirname "$0")/lib.sh"
build=${1:-}
[ -n "$build" ] || cannot "no build directory given"
need readelf

program() { # NAME FORBIDDEN-LIBRARIES (extended regular expression)
    local file=$build/bin/$1 needed
    if [ ! -f "$file" ]; then
        echo "$file:1: not built"
        return
    fi
    needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
    if [ -z "$needed" ]; then
        echo "$file:1: not a dynamic program"
        return
    fi
    grep -E "^($2)" <<<"$needed" | sed "s|^|$file:1: needs |"
}

gpu='libamdhip64|libhsa-runtime|libcuda|libcudart|libnvidia|libnvrtc|libhiprtc'
{
    if grep -q '^KSWEEP_WORKER_ONLY:BOOL=ON' "$build/CMakeCache.txt" 2>/dev/null; then
        program ksweep-worker "libmpi|libopen-|libhdf5|libhwloc|libcjson|libxgboost|$gpu"
        program ksweep-rtc "libmpi|libopen-|libhdf5|libhwloc|libcjson|libxgboost|$gpu"
        program ksweep-gpu "libmpi|libopen-|libhdf5|libhwloc|libcjson|libxgboost|$gpu"
    else
        program ksweep "libmpi|libopen-|libxgboost|$gpu"
        program ksweep-worker "libmpi|libopen-|libhdf5|libhwloc|libcjson|libxgboost|$gpu"
        program ksweep-profiler "libmpi|libopen-|libhdf5|libhwloc|libxgboost|$gpu"
        program ksweep-rtc "libmpi|libopen-|libhdf5|libhwloc|libcjson|libxgboost|$gpu"
        program ksweep-analyze "libmpi|libopen-|libhwloc|$gpu"
    fi
} | verdict
