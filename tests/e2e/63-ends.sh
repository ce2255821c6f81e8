#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nobody hangs where MPI itself waits for all: at its start and at its end.
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
    ok "end $stopped: the sweep begins" settles 10 test -d "$dir/journal"
    ok "end $stopped: the others leave although rank $stopped froze" settles 15 none_is_alive "$dir"
    kill -KILL $(pgrep -f "ksweep run .* --out $dir ")
    wait
done
is "$(exit_of "$tap_tmp/end2")" 0 'end 2: gathered, and the status says complete'
ok 'end 2: journal and results.h5 agree' ksweep check "$tap_tmp/end2"
is "$(exit_of "$tap_tmp/end0")" 3 'end 0: without rank 0 there is no status'
tiny 0 "$tap_tmp/end0" --resume >"$dir.out" 2>"$dir.err"
is "$(exit_of "$tap_tmp/end0")" 0 'end 0: and --resume has only to gather'

done_testing
