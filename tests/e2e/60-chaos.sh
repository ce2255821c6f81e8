#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# Eleven kills at random moments, every target and phase among them; then every cell is there once.
. "$(dirname "$0")/tap.sh"

need_program mpirun python3
export XDG_CACHE_HOME=$tap_tmp/cache
seed=${KSWEEP_CHAOS_SEED:-3}
python3 "$KSWEEP_SOURCE_DIR/tests/tools/chaos.py" --bin "$KSWEEP_BIN" --out "$tap_tmp/chaos" \
    --problems 35 --seed "$seed" >"$tap_tmp/chaos.log" 2>&1
rc=$?
tap_note "$(cat "$tap_tmp/chaos.log")"
is "$rc" 0 "every kill counted, nothing lost, nothing measured twice (seed $seed)"
is "$(grep -c ': counted' "$tap_tmp/chaos.log")" 11 "eleven kills counted"
done_testing
