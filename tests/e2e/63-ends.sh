#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Nobody hangs where MPI itself waits for all: at its start and at its end. Nobody spins who only
# watches.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/sweep.sh"
ksweep build "$tiny_job" --cache "$tiny_cache" >"$tap_tmp/build.out" 2>&1

n_alive() { # DIR: ranks of that run that are not stopped
    pgrep -f "ksweep run .* --out $1 " | while read -r p; do
        [ "$(cat "/proc/$p/comm" 2>/dev/null)" = ksweep ] || continue
        grep -q '^State:.[TtZ]' "/proc/$p/status" 2>/dev/null || echo "$p"
    done | wc -l
}
none_is_alive() { [ "$(n_alive "$1")" -eq 0 ]; }
two_are_alive() { [ "$(n_alive "$1")" -eq 2 ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# A rank dies while MPI starts: the others would wait for it for ever.
dir=$tap_tmp/start
KSWEEP_CHAOS=start:1@1 tiny 3 "$dir" --lost-after 1s >"$dir.out" 2>"$dir.err" &
pid=$!
ok 'start: every rank leaves although one died' settles 15 is_gone $pid
is_gone $pid || kill -KILL $(pgrep -f "ksweep run .* --out $dir ")
wait
like "$(cat "$dir.err")" 'did not start in time.*--lost-after' 'start: they say why'
is "$(exit_of "$dir")" 3 'start: exit 3'
tiny 3 "$dir" >"$dir.out" 2>"$dir.err"
is "$(exit_of "$dir")" 0 'start: the next try completes'

# A rank freezes after its goodbye: the others would wait for it in MPI_Finalize.
for stopped in 2 0; do
    dir=$tap_tmp/end$stopped
    KSWEEP_CHAOS=end:1:stop@$stopped tiny 3 "$dir" --lost-after 1s >"$dir.out" 2>"$dir.err" &
    ok "end $stopped: the sweep begins" settles 60 test -d "$dir/journal"
    ok "end $stopped: the others leave although rank $stopped froze" settles 15 none_is_alive "$dir"
    kill -KILL $(pgrep -f "ksweep run .* --out $dir ")
    wait
done
for stopped in 2 0; do
    is "$(exit_of "$tap_tmp/end$stopped")" 0 "end $stopped: gathered, and the status says complete"
    ok "end $stopped: journal and results.h5 agree" ksweep check "$tap_tmp/end$stopped"
done

# Rank 0 freezes while the others wait for the results: they wait for --lost-after, not for ever.
dir=$tap_tmp/held
KSWEEP_CHAOS=rename:1:stop@0 tiny 3 "$dir" --lost-after 5s >"$dir.out" 2>"$dir.err" &
ok 'held: the results are written' settles 60 test -s "$dir/results.h5"
ok 'held: the others are still there when rank 0 freezes' settles 3 two_are_alive "$dir"
ok 'held: they leave when rank 0 is silent' settles 30 none_is_alive "$dir"
kill -KILL $(pgrep -f "ksweep run .* --out $dir ")
wait
is "$(exit_of "$dir")" 3 'held: without rank 0 there is no status'
tiny 0 "$dir" --resume >"$dir.out" 2>"$dir.err"
is "$(exit_of "$dir")" 0 'held: and --resume has only to gather'

# It gathers for longer than --lost-after: they wait.
dir=$tap_tmp/slow
KSWEEP_CHAOS=rename:1:sleep=6@0 tiny 3 "$dir" --lost-after 1s >"$dir.out" 2>"$dir.err" &
ok 'slow: the results are written' settles 60 test -s "$dir/results.h5"
sleep 2 # twice --lost-after
is "$(n_alive "$dir")" 3 'slow: nobody leaves before the status is written'
wait
is "$(exit_of "$dir") $(grep -c 'no sign of life' "$dir.err")" '0 0' 'slow: complete, and nobody was missed'

# A rank whose warden died watches the others, and wakes no more often than they do.
cat >"$tap_tmp/sim.json" <<EOF
{ "name": "sim", "why": "cells that take a while", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'good'"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv"} ],
  "device": {"backend": "sim", "arch": "seed=1,ns=20000,sleep_us=200000"},
  "verify": {"exact": false, "elementwise": false} }
EOF
rank_of() { # COMM RANK DIR
    local p
    for p in $(pgrep -f "ksweep run .* --out $3 "); do
        [ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$1" ] &&
            tr '\0' '\n' <"/proc/$p/environ" | grep -q "^OMPI_COMM_WORLD_RANK=$2\$" && echo "$p"
    done
}
switches() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"; }
dir=$tap_tmp/watch
TINY_JOB=$tap_tmp/sim.json tiny 2 "$dir" --grace 0s >"$dir.out" 2>"$dir.err" &
ok 'watch: the sweep begins' settles 60 test -d "$dir/journal"
sleep 0.5
kill -KILL "$(rank_of ksweep-warden 1 "$dir")"
sleep 0.5
pid=$(rank_of ksweep 1 "$dir")
before=$(switches "$pid")
sleep 3
n=$(($(switches "$pid") - before))
tap_note "$n wake-ups in 3 s"
is $((n > 30 && n < 1500)) 1 'watch: the rank without a warden lives and sleeps'
kill -TERM "$(rank_of ksweep 0 "$dir")"
wait
is "$(exit_of "$dir")" 3 'watch: resumable'

done_testing
