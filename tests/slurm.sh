#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# slurm.sh [PART...] - the batch scripts of slurm/ through sbatch, in a private Slurm of several
# nodes; TAP. Without arguments all parts at once, but not starts and limit-kill, which tests/soak.sh
# runs.
# group: slurm netns
#
#   finish       one node, an array over two jobs and their gathering
#   chain        short jobs one behind the other until the sweep is complete; a cancelled chain
#   signal       the signal before the time limit: drained, requeued, resumed
#   rank         a rank killed: Slurm ends the step, the script starts the next one
#   frozen       a rank stands still for longer than --lost-after, and comes back
#   leave        a rank lost after its dismissal, one back while rank 0 gathers: it is not ended
#   nodes        a node lost, the controller killed and started again: the job goes on
#   cancel       scancel; then power-off of the node with rank 0: Slurm requeues, the sweep resumes
#   starts       100 starts of four ranks beside busy processes: none dies in MPI's start; tests/soak.sh
#   limit-kill   a job that does not know its time limit is killed there; the next one goes on
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parts='finish chain signal rank frozen leave nodes cancel'

case ${1:-} in
-h | --help) sed -n '3,/^here=/{/^here=/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
--parts) echo "$parts"; exit 0 ;;
esac

if [ $# -ne 1 ]; then # several: each for itself, then one TAP text
    tmp=$(mktemp -d) || exit 1
    trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$tmp"' EXIT
    trap 'exit 130' INT TERM
    # shellcheck disable=SC2086
    [ $# -gt 0 ] || set -- $parts
    for part; do
        bash "$0" "$part" >"$tmp/$part" 2>&1 &
    done
    wait
    for part; do cat "$tmp/$part"; done | awk '
        /^1\.\.0/ { skip = $0 }
        /^1\.\./ { next }
        /^(not )?ok [0-9]+/ { bad += /^not/; sub(/ok [0-9]+/, "ok " ++n) }
        { print }
        END { print n || skip == "" ? "1.." n + 0 : skip; exit bad > 0 || (!n && skip == "") }'
    exit
fi

. "$here/e2e/tap.sh"
. "$here/e2e/sweep.sh"
slurm=$here/tools/cluster/slurm.sh
why=$("$slurm" can) || skip_all "$why"
need_program mpirun cc

export KSWEEP_SLURM_DIR=${tap_tmp:?}/slurm
tap_cleanup() {
    "$slurm" down
    rm -rf "$tap_tmp"
}
trap 'exit 130' INT TERM
cd "$tap_tmp" || exit 1

# --- the cluster, its users and their files

S() { "$slurm" exec "$@"; }

cluster() { # NODES
    "$slurm" up "$1" >up.out 2>&1 || { tap_note "$(tail -n 30 up.out)"; exit 1; }
}

# The scripts as they are installed, beside the program.
mkdir -p inst/bin inst/share/ksweep
ln -s "$KSWEEP_BIN"/ksweep* inst/bin
ln -s "$KSWEEP_SOURCE_DIR/slurm" inst/share/ksweep/slurm

# script NAME LEAD SED...: a copy in this directory, with its first ten lines edited.
script() {
    local name=$1 lead=$2
    shift 2
    sed -e "1,10{s/--ntasks-per-node=8 --gpus-per-node=8/--ntasks-per-node=2 --gpus-per-node=2/
        s|^ksweep=ksweep |ksweep=$tap_tmp/inst/bin/ksweep |
        s/^lead_s=300 /lead_s=$lead /;}" "$@" -e "1,10s/@300/@$lead/" \
        inst/share/ksweep/slurm/"$name" >"$name"
}

# sim NAME SLEEP_US: 50 problems x 20 instances on a device that only sleeps.
sim() {
    cat >"$1.json" <<END
{ "name": "$1", "why": "cells that take a while", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'good'"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv"} ],
  "device": {"backend": "sim", "arch": "seed=1,ns=20000,sleep_us=$2"},
  "measure": {"warmup_ms": 0, "min_samples": 1, "max_samples": 1,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
  "verify": {"exact": false, "elementwise": false} }
END
}

submit() { S sbatch --parsable "$@"; }
show() { S scontrol show job -o "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; } # JOB KEY
state() { show "$1" JobState; }
is_in() { [[ " $2 " == *" $(state "$1") "* ]]; } # JOB STATES
ends() { # JOB SECONDS
    settles "$2" is_in "$1" 'COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL' || {
        tap_note "job $1 is $(state "$1")"
        return 1
    }
}
has_done() { [ "$(field "$1" "done")" -ge "$2" ] 2>/dev/null; } # DIR N
says() { grep -qE "$2" "$1"; }
restart() { # JOB: without the two minutes that Slurm waits before a requeued job
    settles 30 is_in "$1" PENDING && sleep 1 && S scontrol update jobid="$1" StartTime=now
}
shows() { tap_note "$(tail -n 40 "$1")"; } # LOG

# complete DIR N LOG DESCRIPTION: every cell has its outcome, once, and no acknowledged one is lost.
complete() {
    is "$(field "$1" "done") $(field "$1" pending)" "$2 0" "$4: every cell has its outcome" || shows "$3"
    ok "$4: each of them once, no acknowledged record lost" /usr/bin/python3 \
        "$KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py" "$1" ${KSWEEP_ACK_LOG:+--acked "$KSWEEP_ACK_LOG"}
    ok "$4: journal and results.h5 agree" ksweep check "$1"
    is "$(ksweep-analyze table "$1/results.h5" | sed 1d | wc -l)" "$2" "$4: training.csv has a row each"
}

ranks_of() { S pgrep -x ksweep; }
none_runs() { [ -z "$(S pgrep 'ksweep')" ]; }

# --- parts

part_finish() {
    local job
    cluster 2
    script one_node.sbatch 30
    sim a 2000
    job=$(submit -t 5 one_node.sbatch "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" one)
    ok 'one node: the job ends' ends "$job" 90
    is "$(state "$job")" COMPLETED 'one node: with 0' || shows "ksweep-$job.log"
    complete one 15 "ksweep-$job.log" 'one node'
    like "$(cat "ksweep-$job.log")" '--max-time 2[67][0-9]s' 'one node: the walltime left is known'

    script array.sbatch 30 -e "s|^jobs=.*|jobs=($tap_tmp/a.json $KSWEEP_SOURCE_DIR/tests/data/tiny.json)|"
    job=$(submit -t 5 array.sbatch)
    ok 'array: the first ends' ends "${job}_0" 90
    ok 'array: the second ends' ends "${job}_1" 90
    is "$(state "${job}_0") $(state "${job}_1")" 'COMPLETED COMPLETED' 'array: both with 0' ||
        shows "ksweep-${job}_0.log"
    is "$(cat "ksweep-${job}_"*.log | grep -c -e '--max-time 2[67][0-9]s')" 2 \
        'array: both know the walltime left'
    complete sweeps/a.ksweep 1000 "ksweep-${job}_0.log" 'array 0'
    complete sweeps/tiny.ksweep 15 "ksweep-${job}_1.log" 'array 1'
    ok 'array: gathered into one file' ksweep gather sweeps/*.ksweep -o all.h5
    is "$(ksweep-analyze table all.h5 | sed 1d | wc -l)" 1015 'array: with the cells of both'

    sed 's/"max_ms"/"maxms"/' "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" >bad.json
    job=$(submit -t 5 one_node.sbatch bad.json bad)
    S env SLURM_PMIX_FENCE=ring srun --mpi=pmix -N 2 --ntasks-per-node=2 "$KSWEEP_BIN/ksweep" plan --show-binding \
        "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" >map.out 2>&1
    is "$(awk '$3 == "measures" { print $2, $5 }' map.out | sort -u | wc -l)" 4 \
        'plan under srun: every rank of a node has a core of its own' || shows map.out
    S srun -n 2 "$KSWEEP_BIN/ksweep" run a.json --out alone >alone.out 2>&1
    is "$(grep -c 'srun --mpi=pmix' alone.out) $(ls alone 2>&1 | grep -c cannot)" '1 1' \
        'srun without PMIx: refused, nothing is written'
    ok 'wrong job: it ends' ends "$job" 60
    is "$(show "$job" ExitCode)" 2:0 'wrong job: with 2, and does not come again'
    like "$(cat "ksweep-$job.log")" "did you mean 'max_ms'" 'wrong job: the log says what is wrong'
}

part_chain() {
    local first last
    cluster 2
    # Each link has 60 s less 48.
    script chain.sbatch 48 -e 's/--nodes=4/--nodes=2/;s/--time=[0-9:]*/--time=1/;s/@300/@5/'
    sim a 45000
    first=$(submit chain.sbatch a.json chained)
    ok 'chain: the first link ends' ends "$first" 70
    is "$(state "$first") $(show "$first" ExitCode)" 'COMPLETED 0:0' 'chain: incomplete, but a successor goes on'
    like "$(cat chained/status.json)" '"reason": "max-time"' 'chain: it started nothing too long' ||
        shows "ksweep-$first.log"
    ok 'chain: the last link completes the sweep' settles 90 says_any 'complete: .*results.h5'
    ok 'chain: and cancels its successor' settles 10 queue_is_empty
    complete chained 1000 "ksweep-$first.log" 'chain'
    last=$(grep -l 'complete: ' ksweep-*.log)
    is "$(state "${last//[!0-9]/}")" COMPLETED 'chain: the last link ends with 0'

    first=$(submit chain.sbatch a.json cut)
    ok 'cut chain: begins' settles 60 has_done cut 10
    S scancel "$first"
    ok 'cut chain: the chain ends with the link that was cancelled' settles 20 queue_is_empty
    like "$(cat ksweep-*.log)" "job $first of this chain was cancelled" 'cut chain: and says so'
}
says_any() { grep -qE "$1" ksweep-*.log; }
queue_is_empty() { ! S squeue -h -t all -o %T | grep -qE 'PENDING|RUNNING|COMPLETING'; }

part_signal() {
    local job log
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 2
    script many_nodes.sbatch 5 -e 's/--nodes=4/--nodes=2/;s/--time=[0-9:]*/--time=1/;s/@300/@40/'
    sim a 75000
    job=$(submit many_nodes.sbatch a.json swept)
    log=ksweep-$job.log
    ok 'signal: it arrives before the limit' settles 80 says "$log" 'signal received'
    ok 'signal: the job requeues itself' settles 40 says "$log" 'requeued' || shows "$log"
    like "$(cat swept/status.json)" '"reason": "SIGUSR1"' 'signal: rank 0 drained'
    is "$(exit_of swept)" 3 'signal: resumable'
    ok 'signal: what there is was gathered' test -s swept/results.h5
    S scontrol update jobid="$job" TimeLimit=10
    ok 'signal: it starts again' restart "$job"
    ok 'signal: the second life ends' ends "$job" 50
    is "$(state "$job") $(show "$job" Restarts)" 'COMPLETED 1' 'signal: complete' || shows "$log"
    like "$(cat "$log")" 'ksweep run .*--resume' 'signal: the log holds both lives'
    complete swept 1000 "$log" 'signal'
}

rank_at() { # HOST: some rank there
    local p
    for p in $(ranks_of); do
        S sh -c "tr '\0' '\n' </proc/$p/environ" | grep -qx "SLURMD_NODENAME=$1" && echo "$p" && return
    done
}

# PMIx tells Slurm that a rank is gone, and Slurm ends the step; the script begins another one.
part_rank() {
    local job log
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 2
    script many_nodes.sbatch 20 -e 's/--nodes=4/--nodes=2/'
    sim a 15000
    job=$(submit -t 5 many_nodes.sbatch a.json swept)
    log=ksweep-$job.log
    ok 'rank: the sweep begins' settles 60 has_done swept 60
    S kill -KILL "$(rank_at node2)"
    ok 'rank: the job ends' ends "$job" 90
    is "$(state "$job") $(show "$job" Restarts)" 'COMPLETED 0' 'rank: complete in one job' ||
        shows "$log"
    like "$(cat "$log")" 'incomplete \(died\), srun exited with status 137' 'rank: its death ends the step'
    like "$(cat "$log")" 'ksweep run .*--resume' 'rank: the next step goes on at once'
    complete swept 1000 "$log" 'rank'
}

# It idles until the end: Slurm would end the step with the first process that leaves.
part_frozen() {
    local job log late
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 2
    script many_nodes.sbatch 20 -e 's/--nodes=4/--nodes=2/'
    sim a 60000
    job=$(submit -t 5 many_nodes.sbatch a.json swept)
    log=ksweep-$job.log
    ok 'frozen: the sweep begins' settles 60 has_done swept 20
    late=$(rank_at node2)
    S kill -STOP "$late"
    ok 'frozen: a rank that stands still is given up' settles 60 says "$log" 'on node2 is lost'
    S kill -CONT "$late"
    ok 'frozen: the job ends' ends "$job" 90
    is "$(state "$job") $(show "$job" Restarts)" 'COMPLETED 0' 'frozen: complete in one job' ||
        shows "$log"
    like "$(cat "$log")" 'on node2 is back' 'frozen: it comes back meanwhile'
    is "$(grep -c ': ksweep run ' "$log")" 1 'frozen: the step goes on without it' ||
        shows "$log"
    complete swept 1000 "$log" 'frozen'
}

# Rank 0 gathers for twice as long as --lost-after. One rank freezes after it was dismissed, before
# its goodbye; another one was lost before, and comes back meanwhile. Nobody leaves before the
# status is written: Slurm would end rank 0 with the first that does.
part_leave() {
    local job log late
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 2
    script many_nodes.sbatch 20 -e 's/--nodes=4/--nodes=2/;s/^ks_main/ks_options=(--lost-after 4s); &/'
    sim a 15000
    job=$(KSWEEP_CHAOS=bye:1:stop@1,rename:1:sleep=9@0 submit -t 5 many_nodes.sbatch a.json swept)
    log=ksweep-$job.log
    ok 'leave: the sweep begins' settles 60 has_done swept 20
    late=$(rank_at node2)
    S kill -STOP "$late"
    ok 'leave: rank 0 gathers without two ranks' settles 60 test -s swept/results.h5
    is "$(grep -c 'is lost' "$log")" 2 'leave: one of them was dismissed before' || shows "$log"
    S kill -CONT "$late"
    ok 'leave: the job ends' ends "$job" 60
    is "$(grep -c ': ksweep run ' "$log") $(grep -c 'no sign of life' "$log")" '1 0' \
        'leave: in one step, which nobody left too early' || shows "$log"
    like "$(cat swept/status.json)" '"exit": 0' 'leave: rank 0 wrote the status'
    complete swept 1000 "$log" 'leave'
}

node_is() { S sinfo -h -n "$1" -o %T | grep -q "$2"; }

part_nodes() {
    local job log
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 3
    script many_nodes.sbatch 20 -e 's/--nodes=4/--nodes=3/'
    sim a 90000
    job=$(submit -t 5 many_nodes.sbatch a.json swept)
    log=ksweep-$job.log
    ok 'nodes: the sweep begins' settles 60 has_done swept 40
    "$slurm" fail node3
    ok 'nodes: Slurm sees that node3 is gone' settles 45 node_is node3 down
    is "$(state "$job")" RUNNING 'nodes: the job goes on' || shows "$log"
    "$slurm" kill-controller
    sleep 1
    "$slurm" start-controller >controller.out 2>&1
    ok 'nodes: the controller is back and knows the job' settles 20 is_in "$job" RUNNING
    ok 'nodes: until it ends' ends "$job" 90
    is "$(state "$job") $(show "$job" Restarts)" 'COMPLETED 0' 'nodes: complete in one life' ||
        shows "$log"
    is "$(grep -c 'ksweep run ' "$log")" 1 'nodes: with one start' || shows "$log"
    like "$(cat swept/status.json)" '"lost_hosts": ".*node3' 'nodes: the status names the lost host'
    like "$(cat "$log")" 'lost hosts: .*node3' 'nodes: the log, too'
    complete swept 1000 "$log" 'nodes'
}

part_cancel() {
    local job log
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 1
    script one_node.sbatch 20
    sim a 10000
    job=$(submit -t 5 one_node.sbatch a.json swept)
    ok 'cancel: the sweep begins' settles 60 has_done swept 20
    S scancel "$job"
    ok 'cancel: nothing is left' settles 15 none_runs
    ok 'cancel: the job ends' ends "$job" 15
    sleep 2
    is "$(state "$job")" CANCELLED 'cancel: and stays cancelled'
    is "$(exit_of swept)" 3 'cancel: resumable'

    job=$(submit -t 5 one_node.sbatch a.json swept)
    log=ksweep-$job.log
    ok 'power-off: submitted again, it goes on' settles 60 says "$log" 'ksweep run .*--resume'
    settles 10 ranks_of >/dev/null
    sleep 3
    "$slurm" fail node1
    ok 'power-off: Slurm sees it' settles 45 node_is node1 down
    "$slurm" up-again node1
    ok 'power-off: Slurm requeues the job' restart "$job"
    ok 'power-off: it ends' ends "$job" 90
    is "$(state "$job")" COMPLETED 'power-off: complete' || shows "$log"
    complete swept 1000 "$log" 'power-off'
}

part_starts() {
    local i busy=() bad=0
    cluster 2
    for i in 1 2 3; do
        timeout 300 sh -c 'while :; do :; done' &
        busy+=($!)
    done
    for ((i = 0; i < 100; i++)); do
        S env SLURM_PMIX_FENCE="${SLURM_PMIX_FENCE:-ring}" srun --mpi=pmix -N 2 --ntasks-per-node=2 \
            "$KSWEEP_BIN/ksweep" plan --show-binding "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" \
            >map.out 2>&1 || { bad=$((bad + 1)); shows map.out; }
    done
    kill "${busy[@]}"
    is $bad 0 'starts: of a hundred, none dies'
}

part_limit_kill() {
    local first
    export KSWEEP_ACK_LOG=$tap_tmp/acked
    cluster 1
    script chain.sbatch 5 -e 's/--nodes=4/--nodes=1/;s/--time=[0-9:]*/--time=10/;s/--signal=[^ ]*//'
    sim a 150000
    first=$(submit chain.sbatch a.json swept)
    ok 'limit: the sweep begins' settles 60 has_done swept 10
    S scontrol update jobid="$first" TimeLimit=1 # behind its back, and it gets no signal
    ok 'limit: Slurm kills the job' ends "$first" 140
    is "$(state "$first")" TIMEOUT 'limit: for its time' || shows "ksweep-$first.log"
    ok 'limit: the next one completes the sweep' settles 120 says_any 'complete: .*results.h5'
    complete swept 1000 "ksweep-$first.log" 'limit'
}

declare -F "part_${1//-/_}" >/dev/null || { echo "slurm.sh: no part '$1'" >&2; exit 2; }
"part_${1//-/_}"
done_testing
