#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# A run that is interrupted in the middle ends with 3, says how to go on, and is completed by
# --resume: every cell once, nothing that was acknowledged measured again. And what may change in
# between.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
[ -x /usr/bin/python3 ] || skip_all "/usr/bin/python3 is not installed"
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
audit=$KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py
n_cells=15

# About 0.2 s a cell, so that there is a middle; the device sleeps for it.
slow() { # MICROSECONDS of a timed call
    tiny_sim "$1" | sed 's|"max_ms": 20|"max_ms": 200, "max_samples": 3|'
}
slow 50000 >slow.json
TINY_JOB=$tap_tmp/slow.json
ksweep build slow.json --cache "$tiny_cache" >build.out 2>&1
for p in $(ksweep problems --list "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" | sed '1d;s/,.*//'); do
    for i in $(ksweep kernels --filter 'vector_bytes <= 32' \
        "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json" | sed 's/ .*//'); do
        echo "$p,$i"
    done
done >grid

# The rank 0 below a process (itself without mpirun).
rank0_of() { # PID
    local p
    for p in "$1" $(pgrep -P "$1"); do
        [ "$(cat "/proc/$p/comm" 2>/dev/null)" = ksweep ] || continue
        tr '\0' '\n' <"/proc/$p/environ" | grep -q '^OMPI_COMM_WORLD_RANK=[1-9]' && continue
        echo "$p"
        return
    done
}

acked() { [ "$(wc -l <"$1.acked" 2>/dev/null || echo 0)" -ge "$2" ]; }
has_status() { [ -s "$1/status.json" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# interrupt WHAT RANKS SIGNAL TARGET: TARGET is rank0 or mpirun
interrupt() {
    local what=$1 n=$2 signal=$3 target=$4 dir=$tap_tmp/$1 pid victim
    export KSWEEP_ACK_LOG=$dir.acked
    tiny "$n" "$dir" >"$dir.out" 2>"$dir.err" &
    pid=$!
    ok "$what: some cells are acknowledged" settles 60 acked "$dir" 3
    # The function runs in a subshell whose child is the program.
    [ "$(cat "/proc/$pid/comm")" = bash ] && pid=$(pgrep -P "$pid" | head -n 1)
    victim=$pid
    [ "$target" = rank0 ] && victim=$(rank0_of "$pid")
    kill -s "$signal" "$victim"
    ok "$what: the status is there within 2 s" settles 2 has_status "$dir"
    ok "$what: it ends soon" settles 10 is_gone "$pid"
    wait
    is "$(exit_of "$dir")" 3 "$what: exit 3, resumable"
    like "$(cat "$dir.err")" "$signal received: finishing .*--resume --out $dir" "$what: it says how to go on"
    resume "$what" "$n"
}

resume() { # WHAT RANKS
    local what=$1 dir=$tap_tmp/$1 before after
    before=$(wc -l <"$dir.acked")
    [ "$before" -lt $n_cells ]
    tap_report $? "$what: some cells are left ($before of $n_cells are done)"
    tiny "$2" "$dir" --resume >"$dir.out" 2>"$dir.err"
    is "$(exit_of "$dir") $(field "$dir" done)" "0 $n_cells" "$what: --resume completes it"
    after=$(wc -l <"$dir.acked")
    is $((after)) $n_cells "$what: each cell was acknowledged once in both runs"
    ok "$what: each cell has one outcome, nothing was measured again" \
        /usr/bin/python3 "$audit" "$dir" --grid grid --acked "$dir.acked"
    ok "$what: journal and results.h5 agree" ksweep check "$dir"
}

interrupt alone-int 0 INT rank0
interrupt alone-term 0 TERM rank0
# Two ranks are twice as fast, and whoever interrupts them may be slow.
slow 100000 >two.json
TINY_JOB=$tap_tmp/two.json
interrupt two-usr1 2 USR1 rank0
# mpirun passes a TERM on after a second, and kills one second later.
slow 200000 >slower.json
TINY_JOB=$tap_tmp/slower.json
interrupt two-term 2 TERM mpirun
TINY_JOB=$tap_tmp/slow.json

# --- killed without a word

dir=$tap_tmp/killed
KSWEEP_ACK_LOG=$dir.acked tiny 0 "$dir" >/dev/null 2>&1 &
pid=$!
ok 'killed: some cells are acknowledged' settles 60 acked "$dir" 3
[ "$(cat /proc/$pid/comm)" = bash ] && pid=$(pgrep -P $pid | head -n 1)
kill -s KILL "$pid"
wait 2>/dev/null
is "$(exit_of "$dir")" 3 'killed: exit 3, as there is no status'
export KSWEEP_ACK_LOG=$dir.acked
resume killed 0
unset KSWEEP_ACK_LOG

# --- no more time

dir=$tap_tmp/late
rc_is 3 '--max-time ends a run before it is complete' tiny 0 "$dir" --max-time 1s
is "$(exit_of "$dir")" 3 'status says so, too'
like "$(grep reason "$dir/status.json")" 'max-time' 'and why'
rc_is 0 'and it is resumed' tiny 0 "$dir" --resume

# --- what may change, and what not

sed 's/"max_ms": 200/"max_ms": 100/' slow.json >other.json
TINY_JOB=$tap_tmp/other.json rc_is 2 'another measurement is refused' tiny 0 "$dir" --resume
like "$(cat err)" 'max_ms' 'and the key is named'
sed 's/"batch": 4/"batch": 5/' slow.json >other.json
TINY_JOB=$tap_tmp/other.json rc_is 0 'isolation may change' tiny 0 "$dir" --resume
sed 's/vector_bytes <= 32/vector_bytes <= 16/' slow.json >other.json
TINY_JOB=$tap_tmp/other.json rc_is 2 'a grid that shrinks is refused' tiny 0 "$dir" --extend
sed "s/vector_bytes <= 32/vector_bytes <= 32 or pipeline == 'merged'/" slow.json >other.json
TINY_JOB=$tap_tmp/other.json rc_is 2 'a grid that grows is refused' tiny 0 "$dir" --resume
like "$(cat err)" 'extend' 'and the message names --extend'
TINY_JOB=$tap_tmp/other.json rc_is 0 '--extend allows it' tiny 0 "$dir" --extend
is "$(field "$dir" cells) $(field "$dir" pending)" '21 0' 'and measures what is new'
ok 'and journal and results.h5 agree' ksweep check "$dir"

done_testing
