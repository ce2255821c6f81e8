#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# What can happen to a directory: damage, a full disk, no permission, a second owner, another job.
# quick: yes
. "$(dirname "$0")/tap.sh"

need_program mpirun python3
share_kernels
audit="python3 $KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py"

job() { # NAME MAX_MS COPIES [EXTRA-MEASURE] [KERNEL_TIMEOUT]
    cat >"$tap_tmp/$1.json" <<EOF
{ "name": "$1", "why": "durability", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'good' and copy < $3"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv", "sample": 8, "seed": 1} ],
  "device": {"backend": "host"},
  "measure": {"warmup_ms": 1, "max_ms": $2, "target_rse": 0, "max_samples": 1000${4-},
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "isolate": {"kernel_timeout_s": ${5-5}} }
EOF
}
cells() { ksweep status "$1" --json | grep -o '"done": [0-9]*' | grep -o '[0-9]*$'; }

# A flipped byte costs at most one record, is located, and its cell is measured again.
job flip 2 10
ksweep run "$tap_tmp/flip.json" --out "$tap_tmp/flip" >/dev/null 2>&1
is "$(cells "$tap_tmp/flip")" 80 "80 cells measured"
seg=$tap_tmp/flip/journal/0001.ksj
size=$(stat -c %s "$seg")
worst=80
for k in 3 4 5 6 7 8 9; do
    cp "$seg" "$tap_tmp/keep"
    at=$((size * k / 10))
    python3 - "$seg" "$at" <<'EOF'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    b = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([b ^ 0x10]))
EOF
    n=$(cells "$tap_tmp/flip")
    [ "$n" -lt "$worst" ] && worst=$n
    ksweep check "$tap_tmp/flip" >"$tap_tmp/check" 2>&1
    like "$(cat "$tap_tmp/check")" "0001.ksj" "flipped byte at $at: check names the segment"
    cp "$tap_tmp/keep" "$seg"
done
is "$((worst >= 79))" 1 "at most one cell lost to a flipped byte"
python3 - "$seg" "$((size * 6 / 10))" <<'EOF'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    f.write(b"\xff\x00\xff")
EOF
ksweep run "$tap_tmp/flip.json" --resume --out "$tap_tmp/flip" >/dev/null 2>&1
is "$(cells "$tap_tmp/flip")" 80 "resume measures it again"

# A full disk in mid-frame: exit 3, one clear line, resumable.
small=$tap_tmp/small
mkdir "$small"
if mount -t tmpfs -o size=64k tmpfs "$small" 2>/dev/null; then
    job full 2 10
    rc_is 3 "full disk: exit 3" ksweep run "$tap_tmp/full.json" --out "$small/full"
    like "$(cat "$tap_tmp/err")" 'No space left|no space left' "and the reason"
    mount -o remount,size=16m "$small"
    ksweep run "$tap_tmp/full.json" --resume --out "$small/full" >/dev/null 2>"$tap_tmp/err"
    is "$(cells "$small/full")" 80 "with room again it is completed"
    ok "and nothing is doubled" $audit "$small/full"
    mount -o remount,ro "$small"
    rc_is 3 "a read-only file system: exit 3" ksweep run "$tap_tmp/full.json" --retry ok \
        --out "$small/full"
    like "$(cat "$tap_tmp/err")" 'Read-only file system' "and the reason"
    mount -o remount,rw "$small"
    is "$(cells "$small/full")" 80 "and nothing was changed"
    umount "$small"
else
    tap_note "no tmpfs can be mounted here: the full disk was not tried"
fi

# The directory disappears, or may not be written.
job gone 40 10
ksweep run "$tap_tmp/gone.json" --out "$tap_tmp/gone" >/dev/null 2>"$tap_tmp/gone.err" &
pid=$!
sleep 1.5
rm -rf "$tap_tmp/gone"
wait "$pid"
is "$?" 3 "unlinked directory: exit 3"
like "$(tail -n 1 "$tap_tmp/gone.err")" 'gone' "and one line that names it"
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$tap_tmp/ro"
    chmod 500 "$tap_tmp/ro"
    rc_is 3 "read-only place: exit 3" ksweep run "$tap_tmp/flip.json" --out "$tap_tmp/ro/x"
fi

# A stopped owner that wakes up after another took over leaves with exit 3 and doubles nothing.
job stop 20 10
ksweep run "$tap_tmp/stop.json" --out "$tap_tmp/stop" >/dev/null 2>"$tap_tmp/stop.err" &
old=$!
sleep 1.2
kill -STOP "$old"
rc_is 3 "a live owner is not robbed" ksweep run "$tap_tmp/stop.json" --resume --out "$tap_tmp/stop"
like "$(cat "$tap_tmp/err")" "$old" "and is named"
ksweep run "$tap_tmp/stop.json" --resume --take-over --out "$tap_tmp/stop" >/dev/null 2>&1
is "$?" 0 "--take-over resumes and completes"
kill -CONT "$old"
wait "$old"
is "$?" 3 "the old owner leaves with exit 3"
is "$(cells "$tap_tmp/stop")" 80 "every cell is there"
ok "once" $audit "$tap_tmp/stop"

# Another job is refused with the differences; a grown grid needs --extend; isolation may change.
job other 2 10 ', "cache": "cold"'
rc_is 2 "another condition is refused" ksweep run "$tap_tmp/other.json" --resume \
    --out "$tap_tmp/flip"
like "$(cat "$tap_tmp/err")" 'measure.cache: warm -> cold' "and the difference is listed"
job grown 2 12
sed -i 's/"name": "grown"/"name": "flip"/' "$tap_tmp/grown.json"
rc_is 2 "a grown grid is refused" ksweep run "$tap_tmp/grown.json" --resume --out "$tap_tmp/flip"
like "$(cat "$tap_tmp/err")" 'extend' "and --extend suggested"
rc_is 0 "--extend goes on" ksweep run "$tap_tmp/grown.json" --extend --out "$tap_tmp/flip"
is "$(cells "$tap_tmp/flip")" 96 "the new cells were added"
rc_is 2 "a shrunk grid is refused" ksweep run "$tap_tmp/flip.json" --resume --out "$tap_tmp/flip"
job grown 2 12 '' 6
sed -i 's/"name": "grown"/"name": "flip"/' "$tap_tmp/grown.json"
rc_is 0 "isolation may change" ksweep run "$tap_tmp/grown.json" --resume --out "$tap_tmp/flip"
like "$(cat "$tap_tmp/flip/log")" 'kernel_timeout_s' "and the change is logged"
ok "nothing doubled in all of this" $audit "$tap_tmp/flip"
done_testing
