#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A grid of 10^9 cells is never stored: what rank 0 holds until cells are measured, and that it begins.
# How fast it begins on a machine with nothing else to do, tests/bench/run.sh lazy says.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-worker python3
. "$(dirname "$0")/sweep.sh"
export XDG_CACHE_HOME=$tap_tmp/cache

mkdir "$tap_tmp/lazy"
ok 'it begins' python3 "$KSWEEP_SOURCE_DIR/tests/bench/lazy.py" "$tap_tmp/lazy" 100000 16 16 40
said=$(cat "$tap_tmp/out")
tap_note "$said"
get() { sed -n "s/^$1 \([0-9]*\).*/\1/p" <<<"$said"; }
is "$(get cells)" 1024000000 '10^9 cells'
ok 'in 256 MiB at most' test "$(get memory_mib)" -le 256
ok 'within seconds' test "$(get start_s)" -lt 20
ok 'and cells are measured' test "$(field "$tap_tmp/lazy/run" done)" -gt 0
done_testing
