#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# A cell whose rank dies each time it runs: it costs three ranks, not all of them.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc python3
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
lost_after=2

cat >"$tap_tmp/killer.json" <<EOF
{ "name": "killer", "why": "a kernel that sleeps, and whoever waits for it is killed",
  "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'sleep' or fault == 'good' and copy < 6"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv", "sample": 1, "seed": 1} ],
  "measure": {"warmup_ms": 1, "max_ms": 5,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
  "isolate": {"kernel_timeout_s": 120} }
EOF
ksweep build "$tap_tmp/killer.json" --cache "$tiny_cache" >"$tap_tmp/build.out" 2>&1

dir=$tap_tmp/killer
KSWEEP_ACK_LOG=$dir.acks ranks 7 ksweep run "$tap_tmp/killer.json" --out "$dir" \
    --cache "$tiny_cache" --lost-after ${lost_after}s --oversubscribe </dev/null >"$dir.log" 2>&1 &
launcher=$!

# Rank 0 only coordinates: without its warden it gives its cells back, and that is no loss.
has_warden0() { [ -n "$(rank_of 0 ksweep-warden)" ] && [ -d "$dir/journal" ]; }
ok 'the sweep begins' settles 30 has_warden0
kill -KILL "$(rank_of 0 ksweep-warden)"
environment_of() { tr '\0' '\n' 2>/dev/null <"/proc/$1/environ"; }
victim() { # the rank whose worker sleeps in the kernel
    local p
    for p in $(pgrep -x ksweep-worker); do
        grep -q nanosleep "/proc/$p/wchan" 2>/dev/null &&
            environment_of "$p" | grep -q "^KSWEEP_ACK_LOG=$dir.acks\$" &&
            environment_of "$p" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'
    done | grep -v '^0$' | head -n 1
}
killed=0
while lives "$launcher" && [ $SECONDS -lt 50 ]; do
    rank=$(victim)
    pid=$([ -z "$rank" ] || rank_of "$rank")
    [ -z "$pid" ] || {
        kill -KILL "$pid"
        killed=$((killed + 1))
        tap_note "rank $rank killed"
    }
    sleep 0.1
done
ends_within 10 'the sweep ends'
is $killed 3 'three ranks were lost to it'
is "$(exit_of "$dir")" 1 'complete, but something needs a look'
like "$(ksweep status "$dir")" 'worker_lost  *1$' 'its outcome says why'
is "$(outcomes "$dir")" 7 'every cell has an outcome'
ok 'once' python3 "$KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py" "$dir" --acked "$dir.acks"
gone 'nobody is left'
done_testing
