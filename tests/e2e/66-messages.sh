#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# Ranks that are killed at any instruction while they send messages of exactly the largest size:
# rank 0 never hangs, over shared memory and over TCP.
. "$(dirname "$0")/tap.sh"
need_program mpirun
. "$(dirname "$0")/sweep.sh"
[ -x "$KSWEEP_BIN/net_storm" ] || skip_all 'net_storm is not built'

rounds=4
for btl in self,vader self,tcp; do
    n=0
    killed=0
    for ((seed = 1; seed <= rounds; seed++)); do
        : >"$tap_tmp/out" # of the round before; who runs beside us does it too late
        OMPI_MCA_btl=$btl ranks 6 timeout -s KILL 30 "$KSWEEP_BIN/net_storm" 300 $seed \
            >"$tap_tmp/out" 2>"$tap_tmp/err" &
        pid=$!
        ends() { [ "$(grep -c . "$tap_tmp/out")" -eq 5 ]; }
        settles 30 ends && n=$((n + 1))
        killed=$((killed + $(awk '$2 > 0' "$tap_tmp/out" | wc -l)))
        settles 5 eval "! kill -0 $pid 2>/dev/null" || kill -KILL $pid # mpirun may wait for the dead
        wait $pid
        tap_note "$btl, seed $seed: $(paste -sd ' ' "$tap_tmp/out")"
    done
    is $n $rounds "$btl: rank 0 outlives all others, $rounds times"
    is $killed $((5 * rounds)) "$btl: and had messages of every one of them before"
done
done_testing
