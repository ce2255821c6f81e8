#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Leaving in a hurry: kernels that hang on several ranks do not hold up a run that was told to end,
# and a rank that cannot take part says why.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/sweep.sh"

cat >"$tap_tmp/hang.json" <<EOF
{ "name": "hang", "why": "kernels that sleep for ever", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'sleep' or fault == 'good' and copy < 2"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv", "sample": 4, "seed": 1} ],
  "measure": {"warmup_ms": 1, "max_ms": 5},
  "isolate": {"kernel_timeout_s": 60} }
EOF
TINY_JOB=$tap_tmp/hang.json
ksweep build "$TINY_JOB" --cache "$tiny_cache" >"$tap_tmp/build.out" 2>&1

rank0_of() { # DIR
    local p
    for p in $(pgrep -f "ksweep run .* --out $1 "); do
        tr '\0' '\n' <"/proc/$p/environ" | grep -q '^OMPI_COMM_WORLD_RANK=0' && echo "$p" && return
    done
}
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# The workers of both ranks sleep in a kernel.
both_hang() { # MARK
    local p n=0
    for p in $(pgrep -x ksweep-worker); do
        tr '\0' '\n' <"/proc/$p/environ" | grep -q "^HANG_MARK=$1\$" || continue
        grep -q nanosleep "/proc/$p/wchan" && n=$((n + 1))
    done
    [ $n -ge 2 ]
}

# A cell in flight is finished after SIGINT: it gets as long as a kernel may take.
dir=$tap_tmp/patient
HANG_MARK=$dir tiny 2 "$dir" --oversubscribe >"$dir.out" 2>"$dir.err" &
pid=$!
ok 'INT: the kernels of both ranks hang' settles 60 both_hang "$dir"
kill -s INT "$(rank0_of "$dir")"
sleep 2
ok 'INT: their cells get the time they have' both_hang "$dir"
kill -s INT "$(rank0_of "$dir")"
ok 'INT: until the second one' settles 15 is_gone $pid
is_gone $pid || kill -KILL $(pgrep -f "ksweep run .* --out $dir ")
wait
is "$(exit_of "$dir")" 3 'INT: resumable'

for signal in USR1 TERM; do
    dir=$tap_tmp/hang$signal
    grace=$([ $signal = TERM ] && echo 0s || echo 20s)
    HANG_MARK=$dir tiny 2 "$dir" --oversubscribe --grace "$grace" >"$dir.out" 2>"$dir.err" &
    pid=$!
    ok "$signal: the kernels of both ranks hang" settles 60 both_hang "$dir"
    kill -s $signal "$(rank0_of "$dir")"
    ok "$signal: all ranks end long before the kernels' time is over" settles 15 is_gone $pid
    is_gone $pid || kill -KILL $(pgrep -f "ksweep run .* --out $dir ")
    wait
    is "$(exit_of "$dir")" 3 "$signal: resumable"
    unlike "$(ksweep status "$dir")" timeout "$signal: the cells in flight are not blamed"
done

like "$(cat "$tap_tmp/hangUSR1.out")" 'hangUSR1/results.h5' 'there was time to gather'
unlike "$(cat "$tap_tmp/hangTERM.out")" 'results.h5' 'no grace: no results are promised'
like "$(cat "$tap_tmp/hangTERM.err")" 'not gathered.*ksweep gather' 'and it says how to get them'

# One rank of three may not use its cache. (No rank has to end the others.)
mkdir "$tap_tmp/open"
chmod 777 "$tap_tmp/open"
dir=$tap_tmp/one
ksweep build "$tiny_job" --cache "$tiny_cache" >"$tap_tmp/build.out" 2>&1
ranks 2 ksweep run "$tiny_job" --out "$dir" --lost-after 6s --cache "$tiny_cache" \
    : -n 1 ksweep run "$tiny_job" --out "$dir" --lost-after 6s --cache "$tap_tmp/open" \
    >"$dir.out" 2>"$dir.err"
like "$(cat "$dir.err")" "error rank 2 .*$tap_tmp/open.* this rank exits" 'a rank that leaves says why'
is "$(exit_of "$dir")" 0 'and the others complete the sweep'

# The first rank of another host does not find the job there.
dir=$tap_tmp/elsewhere
ranks 1 ksweep run "$tiny_job" --out "$dir" --lost-after 1s --cache "$tiny_cache" \
    : -n 1 env OMPI_COMM_WORLD_LOCAL_RANK=0 ksweep run "$dir.json" --out "$dir" --lost-after 1s \
    : -n 1 ksweep run "$dir.json" --out "$dir" --lost-after 1s >"$dir.out" 2>"$dir.err"
is "$(grep -c "error .*$(hostname): .*elsewhere.json.*; this rank exits" "$dir.err")" 1 \
    'a host that lacks what others have: one of its ranks says so'
done_testing
