#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# A run's directory on a file system that is not like the local one (tests/fake/odd_fs.c): no shared
# mappings, no locks, no links, no files without a name, names remembered by the client, and one that
# stands still for a while.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc python3
. "$(dirname "$0")/sweep.sh"
audit="python3 $KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py"
shim=$tap_tmp/odd_fs.so
ok 'the odd file system compiles' \
    cc -shared -fPIC -O1 -o "$shim" "$KSWEEP_SOURCE_DIR/tests/fake/odd_fs.c" -ldl
mkdir "$tap_tmp/odd"
odd() { # VARIABLE=VALUE... COMMAND...: under it
    env LD_PRELOAD="$shim" ODD_FS_DIR="$tap_tmp/odd" ODD_FS_LOG="$tap_tmp/refused" "$@"
}
cat >"$tap_tmp/sim.json" <<EOF
{ "name": "sim", "why": "cells that take a while", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'good'"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv", "sample": 10, "seed": 1} ],
  "device": {"backend": "sim", "arch": "seed=1,ns=20000,sleep_us=5000"},
  "measure": {"warmup_ms": 0, "max_ms": 10, "min_samples": 5, "max_samples": 5,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "verify": {"exact": false, "elementwise": false} }
EOF
export TINY_JOB=$tap_tmp/sim.json

# --- the shim bites
cat >"$tap_tmp/bite.py" <<'EOF'
import fcntl, mmap, os, sys
path = sys.argv[1]
f = open(path, "w+b")
f.write(b"x" * 4096)
f.flush()
n = 0
for attempt in (lambda: mmap.mmap(f.fileno(), 4096), lambda: fcntl.flock(f, fcntl.LOCK_EX),
                lambda: os.link(path, path + "2")):
    try:
        attempt()
    except OSError:
        n += 1
print(n)
EOF
is "$(odd ODD_FS_NFS=1 /usr/bin/python3 "$tap_tmp/bite.py" "$tap_tmp/odd/x")" 3 \
    'mmap, flock and link are refused there'
is "$(odd ODD_FS_NFS=1 /usr/bin/python3 "$tap_tmp/bite.py" "$tap_tmp/y")" 0 'and nowhere else'
rm -f "$tap_tmp/refused" "$tap_tmp/odd/x"

# --- like NFS
nfs() { odd ODD_FS_NFS=1 "$@"; }
dir=$tap_tmp/odd/run
LD_PRELOAD=$shim ODD_FS_DIR=$tap_tmp/odd ODD_FS_LOG=$tap_tmp/refused ODD_FS_NFS=1 \
    tiny 3 "$dir" --max-time 2s >"$dir.out" 2>"$dir.err"
LD_PRELOAD=$shim ODD_FS_DIR=$tap_tmp/odd ODD_FS_LOG=$tap_tmp/refused ODD_FS_NFS=1 \
    tiny 3 "$dir" --resume >"$dir.out" 2>"$dir.err"
is "$(exit_of "$dir")" 0 'a sweep is completed there'
rc_is 0 'gathered there' nfs ksweep gather "$dir"
rc_is 0 'checked there' nfs ksweep check "$dir"
rc_is 0 'and made a table of there' nfs ksweep-analyze table "$dir/results.h5" \
    -o "$dir/training.csv"
is "$(sort -u "$tap_tmp/refused" | paste -sd ' ')" O_TMPFILE \
    'nothing was tried but a file without a name, for which there is another way'
is "$(find "$dir" -name '.*' | wc -l)" 0 'which leaves nothing behind'

# --- names that the client remembers
n_acks() { grep -c . "$tap_tmp/acks" 2>"$tap_tmp/null"; }
has_acks() { [ "$(n_acks)" -ge "$1" ]; }
sim() { # NAME VARIABLE=VALUE OPTION...
    odd KSWEEP_ACK_LOG="$tap_tmp/acks" "$2" ksweep run "$tap_tmp/sim.json" \
        --out "$tap_tmp/odd/$1" --cache "$tiny_cache" "${@:3}"
}
sim stale ODD_FS_STALE=1 >"$tap_tmp/old.out" 2>"$tap_tmp/old.err" &
old=$!
ok 'stale names: the first owner measures' settles 60 has_acks 20
rc_is 0 'stale names: another one takes over and completes it' \
    sim stale ODD_FS_STALE=1 --resume --take-over
wait "$old"
is $? 3 'stale names: the first one notices all the same'
like "$(cat "$tap_tmp/old.err")" 'taken over by another process' 'stale names: and says so'
ok 'stale names: nothing acknowledged is lost or measured again' \
    $audit "$tap_tmp/odd/stale" --acked "$tap_tmp/acks"

rc_is 0 'a container that does not know the call to ask the server: nothing is refused' \
    sim filtered ODD_FS_FILTER=1

# --- it stands still
gate=$tap_tmp/gate
: >"$tap_tmp/acks"
sim still ODD_FS_STALL="$gate" --lost-after 1s >"$tap_tmp/still.out" 2>"$tap_tmp/still.err" &
pid=$!
ok 'frozen: it measures' settles 60 has_acks 20
: >"$gate"
sleep 0.5
n=$(n_acks)
sleep 3
is "$(n_acks)" "$n" 'frozen: what is not on disk is not acknowledged'
rm "$gate"
wait "$pid"
is $? 0 'frozen: then it goes on and completes'
ok 'frozen: nothing is lost or doubled' $audit "$tap_tmp/odd/still" --acked "$tap_tmp/acks"
done_testing
