#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# A run's directory is moved, copied while it is written, watched and gathered from without being
# touched.
# group: mpi
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program mpirun cc python3 strace
. "$(dirname "$0")/sweep.sh"
audit="python3 $KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py"
export KSWEEP_ACK_LOG=$tap_tmp/acks

# A job with files beside it, as on a cluster; cells that take a while.
mkdir -p "$tap_tmp/cluster1/job" "$tap_tmp/cluster2"
cp "$KSWEEP_SOURCE_DIR"/tests/fake/bad_* "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv" \
    "$tap_tmp/cluster1/job"
job() { # CLUSTER MS: the job file there
    cat >"$tap_tmp/$1/job/job.json" <<EOF
{ "name": "moved", "why": "to be moved", "operator": "grouped_conv",
  "kernels": [ {"config": "bad_kernels.json", "filter": "fault == 'good'"} ],
  "problems": [ {"file": "chaos.csv", "sample": 20, "seed": 1} ],
  "device": {"backend": "sim", "arch": "seed=1,ns=20000,sleep_us=$2"},
  "measure": {"warmup_ms": 0, "max_ms": 10, "min_samples": 5, "max_samples": 5,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "verify": {"exact": false, "elementwise": false} }
EOF
}
job cluster1 2000
run() { # DIR OPTION...: by the job file beside it; exec=exec in the background, for its pid
    ${exec-} ksweep run "$(dirname "$1")/job/job.json" --out "$1" --cache "$tiny_cache" "${@:2}"
}
n_acks() { grep -c . "$KSWEEP_ACK_LOG" 2>"$tap_tmp/null"; }
has_acks() { [ "$(n_acks)" -ge "$1" ]; }

# --- while it runs: copies, status, gather
one=$tap_tmp/cluster1/run
exec=exec run "$one" >"$tap_tmp/run.out" 2>"$tap_tmp/run.err" &
pid=$!
ok 'it measures' settles 60 has_acks 30
for i in 1 2 3; do
    cp -r "$one" "$tap_tmp/copy$i"
    rc_is 0 "copy $i while it is written: nothing but a torn tail" ksweep check "$tap_tmp/copy$i"
    rc_is 0 "copy $i: gathered" ksweep gather "$tap_tmp/copy$i"
    like "$(cat "$tap_tmp/out")" ' pending' "copy $i: part of it"
    sleep 0.2
done
strace -f -qq -e trace=%file,%desc,ftruncate -o "$tap_tmp/trace" \
    ksweep status "$one" --json >"$tap_tmp/out" 2>&1
like "$(cat "$tap_tmp/out")" '"state": "running"' 'status: it runs'
is "$(grep -E "$one.*O_(WRONLY|RDWR|CREAT)|(unlink|rename|mkdir|link|truncate|chmod|utime).*$one" \
    "$tap_tmp/trace")" '' 'status opens nothing there but to read'
like "$(cat "$tap_tmp/trace")" "$one/journal/0001.ksj.*O_RDONLY" '(the trace sees what it opens)'
before=$(n_acks)
rc_is 0 'gathered elsewhere while it runs' ksweep gather "$one" -o "$tap_tmp/elsewhere.h5"
not_ok 'nothing is made in it' test -e "$one/results.h5"
rc_is 3 'a copy is not resumed beside the living original' run "$one" --resume
like "$(cat "$tap_tmp/err")" "in use by process $pid" 'which is named'
ok 'and which goes on undisturbed' settles 60 has_acks $((before + 10))
kill -TERM "$pid"
wait "$pid"
is "$?" 3 'it is ended'

# --- moved: other paths, the same job
mv "$one" "$tap_tmp/cluster2/run"
mv "$tap_tmp/cluster1/job" "$tap_tmp/cluster2/job"
two=$tap_tmp/cluster2/run
n=$(field "$two" done)
rc_is 3 'moved: the status' ksweep status "$two" --exit-code
rc_is 0 'moved: resumed by the job file there' run "$two" --resume
is "$(field "$two" done)" 400 'moved: completed'
is $((n >= 30)) 1 "moved: $n cells came along"
ok 'moved: nothing acknowledged is lost or measured again' $audit "$two" --acked "$KSWEEP_ACK_LOG"
rc_is 0 'moved: checked' ksweep check "$two"
rc_is 0 'moved: resumed by the job in the directory itself' \
    ksweep run "$two/job.json" --resume --out "$two" --cache "$tiny_cache"
unlike "$(cat "$tap_tmp/err")" 'changed keys' 'moved: it is the same job'

# --- copied without its times: sizes say that the status is newer than the journal
cp -r "$two" "$tap_tmp/copied"
touch -d '1 hour ago' "$tap_tmp/copied/status.json"
is "$(exit_of "$tap_tmp/copied")" 0 'copied: the exit code is the run'"'"'s'
cat "$tap_tmp/copied/journal/0001.ksj" | tail -c 100 >>"$tap_tmp/copied/journal/0002.ksj"
touch "$tap_tmp/copied/status.json"
is "$(exit_of "$tap_tmp/copied")" 3 'copied: but not when the journal has grown'
cp -r "$two" "$tap_tmp/older"
sed -i '/journal_bytes/d; s/\("lost_hosts": "[^"]*"\),/\1/' "$tap_tmp/older/status.json"
is "$(exit_of "$tap_tmp/older")" 0 'a status of an earlier version: times decide'
touch -d '1 hour ago' "$tap_tmp/older/status.json"
is "$(exit_of "$tap_tmp/older")" 3 'an older one does not count'

# --- read only
sum() { (cd "$1" && find . -printf '%p %s %T@ ' -exec md5sum {} + 2>"$tap_tmp/null"); }
before=$(sum "$two")
where=$two
mkdir "$tap_tmp/readonly"
if mount --bind "$two" "$tap_tmp/readonly" 2>"$tap_tmp/null" &&
    mount -o remount,bind,ro "$tap_tmp/readonly"; then
    where=$tap_tmp/readonly
else
    tap_note 'nothing can be mounted here: only compared'
fi
rc_is 0 'read only: gathered elsewhere' ksweep gather "$where" -o "$tap_tmp/ro.h5"
rc_is 0 'read only: checked' ksweep check "$where"
rc_is 0 'read only: status' ksweep status "$where"
if [ "$where" != "$two" ]; then
    rc_is 2 'read only: gathered in place' ksweep gather "$where"
    like "$(cat "$tap_tmp/err")" 'Read-only file system' 'read only: refused for its reason'
    umount "$tap_tmp/readonly"
fi
is "$(sum "$two")" "$before" 'nothing there has changed'
done_testing
