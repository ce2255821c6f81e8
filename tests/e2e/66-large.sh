#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Ranks that are killed in a sweep whose records fill more than two messages of the largest size each,
# over shared memory and over TCP.
. "$(dirname "$0")/tap.sh"
need_program mpirun python3
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
sed 's/sleep_us=4000/sleep_us=0/; s/"max_samples": 4, "max_ms": 10/"max_samples": 1000, "max_ms": 500/
     s/"min_samples": 3/"min_samples": 3, "target_rse": 0/' "$lost_job" >"$tap_tmp/large.json"

for btl in self,vader self,tcp; do
    dir=$tap_tmp/large-$btl
    KSWEEP_ACK_LOG=$dir.acks OMPI_MCA_btl=$btl ranks 6 ksweep run "$tap_tmp/large.json" \
        --out "$dir" --lost-after ${lost_after}s </dev/null >"$dir.log" 2>&1 &
    launcher=$!
    for rank in 2 3 4 5; do
        settles 60 acked $((20 * rank))
        kill -KILL "$(rank_of $rank)"
    done
    ends_within 40 "$btl: mpirun ends"
    whole "$(hostname)" "$btl"
    is $(($(stat -c %s "$dir/journal/0001.ksj") > 2 * 3968 * 1000)) 1 "$btl: with large records"
    gone "$btl: nobody is left"
done
done_testing
