#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: tests/chaos.sh [KILLS] [SEED]   many kills of a sweep (default 300); see tests/tools/chaos.py
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out" "$out"+*' EXIT
export XDG_CACHE_HOME=$out/cache
python3 "$top/tests/tools/chaos.py" --bin "${KSWEEP_BIN:-$top/build/bin}" --out "$out/chaos" \
    --kills "${1:-300}" --seed "${2:-1}"
