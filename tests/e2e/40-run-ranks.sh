#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# `ksweep run JOB -n N`: refusals start no rank, the exit status is the sweep's, Ctrl-C finishes the
# cells in flight and gathers, and nothing is left behind whoever dies. Other launchers than Open MPI's
# are refused: MPICH's for real, Open MPI 5's options by a stub.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc timeout pgrep
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
unset KSWEEP_MPIRUN
tiny_sim 0 >fast.json

stub() { # FILE VERSION BODY
    printf '#!/bin/sh\n[ "$1" = --version ] && { echo "%s"; exit; }\n%s\n' "$2" "$3" >"$1"
    chmod +x "$1"
}
# Every process of a run, by its directory: with its whole path, other tests may use the same name.
of() { pgrep -f "ksweep run .* --out $tap_tmp/$1( |\$)"; }
# What looks at all processes, or starts a program, does so a few times a second only.
no_process() { ! of "$1" >/dev/null || { sleep 0.2; false; }; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# --- refused before a rank is started

stub "$tap_tmp/marks" 'mpirun (Open MPI) 4.1.4' 'touch "$0.called"'
refused() { # WHAT REGEX ARG...
    local what=$1 regex=$2
    shift 2
    KSWEEP_MPIRUN=$tap_tmp/marks rc_is 2 "$what: 2" ksweep run "$@" --cache "$tiny_cache"
    like "$(cat err)" "$regex" "$what: it says why"
}
refused 'no such job' 'gone.json' gone.json -n 2
if [ "$(nproc)" -gt 1 ]; then
    one=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    KSWEEP_MPIRUN=$tap_tmp/marks rc_is 2 'two ranks on one of several cores: 2' \
        taskset -c "$one" ksweep run "$tiny_job" -n 2 --out never --cache "$tiny_cache"
    like "$(cat err)" 'cores are shared' 'which its rehearsed map says'
fi
ok 'nothing was made' test ! -e never
mkdir exists
refused 'a directory that is no run' 'not the directory of a run.*--out' "$tiny_job" -n 2 --out exists
ok 'no rank was started for any' test ! -e marks.called
KSWEEP_MPIRUN=/nowhere/mpirun rc_is 2 'no mpirun: 2' ksweep run "$tiny_job" -n 2 --out never
like "$(cat err)" 'KSWEEP_MPIRUN' 'it says where it looked'

# --- a whole sweep, inside an allocation of two nodes that are not there

SLURM_JOB_ID=7 SLURM_JOBID=7 SLURM_JOB_NUM_NODES=2 SLURM_NNODES=2 SLURM_NODELIST='far[1-2]' \
    SLURM_JOB_NODELIST='far[1-2]' SLURM_TASKS_PER_NODE='1(x2)' \
    rc_is 0 'two ranks: the exit status is 0' timeout 60 ksweep run fast.json -n 2 --out whole
like "$(cat err)" 'Slurm job 7 .*this host only' 'in an allocation it says that it stays on this host'
like "$(cat out)" '^complete: 15 cells, [0-9]+ ok' 'the result is printed'
is "$(exit_of whole) $(field whole done)" '0 15' 'every cell is there'
refused 'a complete directory' "is complete; for its report: ksweep-analyze report whole/results.h5" fast.json -n 2 --out whole
ok 'its report is where it says' ksweep-analyze report whole/results.h5
sed 's/"max_ms": 20/"max_ms": 30/' fast.json >other.json
refused 'a resume with another job' 'measured with a different job' other.json -n 2 --out whole --resume
is "$(exit_of whole)" 2 'its status says 2'

# --- Ctrl-C: once and the cells in flight finish; the command that is printed goes on

tiny_sim 150000 >slow.json
has_done() { sleep 0.2; [ "$(field "$1" done)" -ge "$2" ] 2>/dev/null; }
ksweep run slow.json -n 2 --out "$tap_tmp/once" >once.out 2>once.err &
pid=$!
ok 'INT: it measures' settles 60 has_done once 1
kill -INT $pid
wait $pid
is $? 3 'INT: ends with 3, resumable'
ok 'INT: the results are gathered' test -s once/results.h5
ok 'INT: not all of them' test "$(field once done)" -lt 15
ok 'INT: no process is left' no_process once
rc_is 2 'INT: the directory is refused to a new run' ksweep run slow.json -n 2 --out "$tap_tmp/once"
go_on=$(sed -n 's/.*resume with: \(.*\) (or choose.*/\1/p' err)
like "$go_on" 'ksweep run slow.json .*-n 2 --resume --out [^ ]*/once' 'INT: and told the whole command'
like "$(cat once.err)" 'resume with: .*ksweep run slow.json .*-n 2 --resume --out [^ ]*/once' 'INT: which the log has, too'
rc_is 0 'INT: pasted, it completes the sweep' timeout 60 bash -c "$go_on"
unlike "$(grep -m 1 ' info rank 0 .* of 15 cells' err)" ' left' 'INT: no time left is told before it knows what is done'
is "$(field once done)" 15 'INT: every cell'

# --- rank 0 is killed: its parent says so, and how to go on

ksweep run slow.json -n 2 --out "$tap_tmp/headless" --lost-after 1s >headless.out 2>headless.err &
pid=$!
ok 'rank 0 measures' settles 60 has_done headless 1
for p in $(of headless); do
    tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx 'OMPI_COMM_WORLD_RANK=0' && kill -KILL "$p"
done
wait $pid 2>"$tap_tmp/err"
is $? 3 'rank 0 is killed: 3, resumable'
like "$(cat headless.err)" 'rank 0 died.*resume with: .*ksweep run slow.json .*-n 2 --resume --out [^ ]*/headless' 'and it says how'
ok 'and no process is left' settles 60 no_process headless

# --- kernels that hang: the second Ctrl-C ends all; a parent that is killed leaves no orphans

cat >hang.json <<EOF
{ "name": "hang", "why": "kernels that sleep for ever", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json", "filter": "fault == 'sleep'"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv", "sample": 4, "seed": 1} ],
  "measure": {"warmup_ms": 1, "max_ms": 5},
  "isolate": {"kernel_timeout_s": 60} }
EOF
hangs() { # MARK: a worker of this run sleeps in its kernel
    local p
    sleep 0.2
    for p in $(pgrep -x ksweep-worker); do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -q "^HANG_MARK=$1\$" &&
            grep -q nanosleep "/proc/$p/wchan" && return
    done
    return 1
}
for how in INT KILL; do
    HANG_MARK=$tap_tmp/$how ksweep run hang.json -n 2 --out "$tap_tmp/hang$how" --cache "$tiny_cache" >hang.out 2>hang.err &
    pid=$!
    ok "$how: its kernels hang" settles 60 hangs "$tap_tmp/$how"
    kill -$how $pid
    # The second signal must not come before rank 0 has taken the first.
    [ $how = KILL ] || { ok 'INT: the first one waits for them' settles 60 grep -q 'finishing the cells' hang.err && kill -INT $pid; }
    ok "$how: the parent ends" settles 60 is_gone $pid
    wait $pid 2>"$tap_tmp/err"
    [ $how = KILL ] || is "$(exit_of hang$how)" 3 "$how: resumable"
    ok "$how: no rank, warden or launcher is left" settles 60 no_process hang$how
    not_ok "$how: and no worker" hangs "$tap_tmp/$how"
done

# --- before rank 0 can take a signal the first Ctrl-C ends all

stub "$tap_tmp/sleeps" 'mpirun (Open MPI) 4.1.4' 'sleep 987 & echo $! >"$0.pid"; touch "$0.called"; wait'
KSWEEP_MPIRUN=$tap_tmp/sleeps ksweep run fast.json -n 2 --out early >early.out 2>&1 &
pid=$!
ok 'the launcher starts' settles 60 test -e sleeps.called
kill -INT $pid
wait $pid
is $? 3 'too early for rank 0: 3'
ok 'and the launcher is gone with what it started' is_gone "$(cat sleeps.pid)"

# --- Open MPI 5, by its options

stub "$tap_tmp/open5" 'mpirun (Open MPI) 5.0.3' 'echo "$*" >"$0.words"; env | grep "^PRTE_MCA" >"$0.env"
while [ "$1" != --enable-recovery ]; do shift; done; shift; [ "$1" = --allow-run-as-root ] && shift; exec "$@"'
KSWEEP_MPIRUN=$tap_tmp/open5 rc_is 0 'a stub of Open MPI 5 starts one rank' \
    timeout 60 ksweep run fast.json -n 2 --out five
like "$(cat open5.words)" '^-n 2 --host localhost:2 --map-by :OVERSUBSCRIBE --bind-to none --enable-recovery' 'with the options that it knows'
like "$(cat open5.env)" 'PRTE_MCA_plm=.slurm' 'and without a batch system'

# --- MPICH, where there is one

hydra=$(command -v mpiexec.hydra)
if [ -z "$hydra" ] && command -v apt-get >"$tap_tmp/apt"; then
    mkdir debs
    (cd debs && apt-get download mpich libslurm38 >../apt.out 2>&1 && for d in *.deb; do dpkg -x "$d" .; done)
    hydra=$(ls "$PWD"/debs/usr/bin/mpiexec.hydra 2>"$tap_tmp/apt")
    export LD_LIBRARY_PATH=$PWD/debs/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
if [ -n "$hydra" ]; then
    timeout 60 "$hydra" -n 2 ksweep run "$tiny_job" --out mpich --cache "$tiny_cache" >mpich.out 2>&1
    is $? 2 "MPICH's mpiexec: 2"
    is "$(grep -c 'MPICH .*linked with Open MPI' mpich.out)" 1 'one rank says so, with both names'
    ok 'nothing was made' test ! -e mpich
    KSWEEP_MPIRUN=$hydra rc_is 2 'and it is refused for -n' ksweep run "$tiny_job" -n 2 --out mpich --cache "$tiny_cache"
    like "$(cat err)" 'MPICH .*linked with Open MPI' 'with both names, too'
else
    tap_note 'MPICH is not installed and cannot be downloaded: its real launcher was not tried'
fi
done_testing
