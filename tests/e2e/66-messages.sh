#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Ranks that are killed at any instruction while they send messages of exactly the largest size:
# rank 0 never hangs, over shared memory and over TCP. And the same in sweeps whose records fill more
# than two such messages each.
. "$(dirname "$0")/tap.sh"
need_program mpirun python3
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
[ -x "$KSWEEP_BIN/net_storm" ] || skip_all 'net_storm is not built'

rounds=4
sed 's/sleep_us=4000/sleep_us=0/; s/"max_samples": 4, "max_ms": 10/"max_samples": 1000, "max_ms": 500/
     s/"min_samples": 3/"min_samples": 3, "target_rse": 0/' "$lost_job" >"$tap_tmp/large.json"
for btl in self,vader self,tcp; do
    n=0
    killed=0
    for ((seed = 1; seed <= rounds; seed++)); do
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

    dir=$tap_tmp/large-$btl
    KSWEEP_ACK_LOG=$dir.acks OMPI_MCA_btl=$btl ranks 6 ksweep run "$tap_tmp/large.json" \
        --out "$dir" --lost-after ${lost_after}s </dev/null >"$dir.log" 2>&1 &
    launcher=$!
    for rank in 2 3 4 5; do
        settles 20 acked $((20 * rank))
        kill -KILL "$(rank_of $rank)"
    done
    ends_within 40 "$btl, a sweep: mpirun ends"
    whole "$(hostname)" "$btl, a sweep"
    is $(($(stat -c %s "$dir/journal/0001.ksj") > 2 * 3968 * 1000)) 1 "$btl, a sweep: with large records"
    gone "$btl, a sweep: nobody is left"
done
done_testing
