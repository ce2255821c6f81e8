#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# What the batch scripts decide, without Slurm: srun, squeue, scontrol, scancel and sbatch are played
# here. tests/slurm.sh runs the same scripts in a real one. And what `ksweep plan` says to request,
# and the time limit that a newer Slurm tells.
. "$(dirname "$0")/tap.sh"
need_program cc
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
common=$KSWEEP_SOURCE_DIR/slurm/common.sh

# --- the players: each writes down how it was called

mkdir players
cat >players/play <<'EOF2'
#!/bin/sh
name=${0##*/}
[ $name = srun ] && fence=" fence=${SLURM_PMIX_FENCE:-}"
echo "$name $*${SRUN_CPUS_PER_TASK:+ cpus=$SRUN_CPUS_PER_TASK}${fence:-}" >>"$TOLD"
case $name in
squeue)
    case "$*" in
    *%L*) echo "${LEFT:-10:00}" ;;
    *%l*) echo "${LIMIT:-UNLIMITED}" ;;
    *%T*) [ "$(grep -c '%T' "$TOLD")" -le "${AWAY:-0}" ] || echo "${STATE:-RUNNING}" ;;
    *%D*) echo "${NODES:-2 node[1-2]}" ;;
    esac ;;
srun)
    while [ "${1#-}" != "$1" ]; do shift; done
    n=$(grep -c '^srun' "$TOLD")
    eval "how=\${SRUN_$n:-$SRUN}"
    case $how in
    run) exec "$@" ;;
    drained) "$@" --max-time 1ms ;;
    told) "$@" --max-time 1ms; sed -i 's/max-time/SIGTERM/' swept/status.json ;;
    refused) "$@" --retry nothing; exit 0 ;; # as a launcher does that ends with 0 whatever its ranks do
    *) exit "$how" ;;
    esac ;;
scontrol) case $1 in show)
    [ -z "${WARNED:-}" ] || kill -USR1 "$(ps -o ppid= "$PPID" | tr -d ' ')"
    [ "${BEFORE:-}" = forgotten ] || echo "JobState=${BEFORE:-COMPLETED}" ;;
    esac ;;
sacct) echo "${ACCOUNTED:-}" ;;
sbatch) echo '77;here' ;;
sleep) ;;
esac
EOF2
chmod +x players/play
for p in squeue srun scontrol scancel sbatch sacct sleep; do ln -s play players/$p; done

# batch SCRIPT NAME=VALUE...: as Slurm would start it, for the tiny job, into the directory "swept"
batch() {
    local script=$1
    shift
    rm -f told
    env PATH="$tap_tmp/players:$PATH" TOLD="$tap_tmp/told" SLURM_JOB_ID=5 SLURM_JOB_NUM_NODES=2 \
        SLURM_NTASKS=4 SLURM_SUBMIT_DIR="$KSWEEP_SOURCE_DIR/slurm" XDG_CACHE_HOME="$tap_tmp/cache" \
        SRUN=run "$@" timeout 30 bash "$KSWEEP_SOURCE_DIR/slurm/$script" "$tiny_job" "$tap_tmp/swept" >said 2>&1
}
told() { grep -c "$1" told; }

# --- time left

for row in '5:07 307' '01:00:00 3600' '2-00:00:30 172830' '00:08 8' '08:09 489'; do
    is "$(bash -c '. "$1"; ks_seconds "$2"' _ "$common" "${row% *}")" "${row#* }" "${row% *} is ${row#* } s"
done
for text in UNLIMITED INVALID '' 5; do
    not_ok "'$text' is no time" bash -c '. "$1"; ks_seconds "$2"' _ "$common" "$text"
done

# --- complete at once

batch many_nodes.sbatch LEFT=10:00
is $? 0 'complete: 0'
like "$(cat told)" 'srun .*--no-kill.* run .*--max-time 300s' 'srun survives lost nodes; the time left less 300 s'
is "$(told '^scontrol requeue')" 0 'nothing is requeued'
ok 'the results are there' test -s swept/results.h5
is "$(find . -name '.swept.tries*')" '' 'and nothing of the script'
rm swept/results.h5
batch many_nodes.sbatch SRUN=0 LEFT=60-00:00:00
ok 'a run that could not gather: the script does' test -s swept/results.h5
is "$(told '^srun') $(told ' --max-time')" '1 0' 'two months left are no limit'

rm -rf swept
batch many_nodes.sbatch SLURM_CPUS_PER_TASK=3 SLURM_GPUS_ON_NODE=8 SLURM_NTASKS_PER_NODE=4
like "$(cat told)" '^srun .*--cpu-bind=none .* cpus=3' 'srun gets the CPUs of a task, and binds nothing'
like "$(cat told)" '^srun .* fence=ring$' 'and the fence that keeps all in the start of MPI until all are there'
like "$(cat said)" '4 ranks but 8 GPUs per node' 'another number of ranks than of GPUs is told'
rm -rf swept
batch one_node.sbatch SLURM_GPUS_ON_NODE=8 SLURM_NTASKS_PER_NODE=8
unlike "$(cat said)" 'GPUs per node' 'and nothing where they agree'

# --- later, again and never

rm -rf swept
batch many_nodes.sbatch SRUN=drained
is "$(told '^srun') $(told '^scontrol requeue 5')" '1 1' 'no time left: requeued'
batch many_nodes.sbatch LEFT=4:00
is "$(told '^srun') $(told '^scontrol requeue 5')" '0 1' 'not enough to begin: requeued'
rm -rf swept .swept.tries
for i in 1 2 3; do batch many_nodes.sbatch LEFT=4:00; done
is "$? $(told requeue)" '3 0' 'never enough: given up after three'
rm -rf swept .swept.tries
batch many_nodes.sbatch SRUN_1=told
is "$(told '^srun') $(told '^scontrol requeue 5')" '1 1' 'told to end by Slurm itself: requeued'
rm -rf swept .swept.tries
batch many_nodes.sbatch SRUN=drained STATE=COMPLETING
is $? 3 'a job that is being cancelled: 3'
is "$(told '^scontrol requeue')" 0 'and it does not come back'

rm -rf swept .swept.tries
batch many_nodes.sbatch SRUN=drained AWAY=20
is "$(told '^scontrol requeue')" 1 'the controller is away for minutes: requeued when it is back'

rm -rf swept
batch many_nodes.sbatch SRUN=drained SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=3
is "$(told '^scontrol requeue 5_3$') $(told '^squeue .* -j 5_3 ')" '1 4' \
    'a task of an array asks for itself, not for all of them'
rm -rf swept .swept.tries
batch many_nodes.sbatch SRUN_1=137 SRUN_2=run
is "$? $(told '^srun')" '0 2' 'the step dies: the next begins at once'
rm -rf swept
batch many_nodes.sbatch SRUN=137
is "$? $(told '^srun')" '3 3' 'always: given up after three'
like "$(cat said)" '3 starts without a new outcome' 'and it says why'
is "$(grep -A1 '^srun' told | grep '^sleep' | tr '\n' ' ')" 'sleep 60 sleep 120 ' 'each after a longer pause'
batch many_nodes.sbatch SRUN=drained
is "$(told '^scontrol requeue')" 1 'submitted again after that: it counts from the beginning'
rm -rf swept .swept.tries
batch many_nodes.sbatch SRUN_1=137 NODES='1 node2'
like "$(cat told)" 'srun .*--nodes=1 --nodelist=node2 --ntasks=2' 'a node is lost: without it'

rm -rf swept .swept.tries
batch many_nodes.sbatch SRUN=2
is "$? $(told '^srun') $(told 'requeue')" '2 1 0' 'refused: 2, once, not again'
batch many_nodes.sbatch SRUN=drained
batch many_nodes.sbatch SRUN=refused
is "$? $(told '^srun') $(told 'requeue')" '2 1 0' 'also where only its status tells'
like "$(cat swept/status.json)" '"reason": "refused: ' 'which it does'

# --- limits that can never work; the log

rm -rf swept .swept.tries
batch many_nodes.sbatch LIMIT=5:00 LEFT=4:59
is "$? $(told '^srun') $(told requeue)" '2 0 0' 'a time limit of lead_s can never work: refused, not requeued'
like "$(cat said)" '^[-0-9]+T[:0-9]+Z info batch job 5: a time limit of 300 s is too short' 'and it says why, in UTC, by name'
batch many_nodes.sbatch LIMIT=10:00 LEFT=4:00
is "$? $(told requeue)" '3 1' 'a limit that can work, begun too late: requeued'
rm -rf swept .swept.tries

# --- a chain

rm -rf swept
batch chain.sbatch
is "$? $(told '^sbatch .*--dependency=afterany:5') $(told '^scancel 77$')" '0 1 1' \
    'chain: complete, the successor is cancelled'
rm -rf swept
batch chain.sbatch SRUN=drained
is "$? $(told '^scancel') $(told requeue)" '0 0 0' 'chain: incomplete, the successor goes on; the link ends with 0'
batch chain.sbatch KSWEEP_AFTER=4 BEFORE=CANCELLED
is "$? $(told '^sbatch') $(told '^srun')" '3 0 0' 'chain: cancelled, nothing follows'
batch chain.sbatch KSWEEP_AFTER=4 BEFORE=forgotten ACCOUNTED='CANCELLED by 1000'
is "$? $(told '^sbatch') $(told '^srun')" '3 0 0' 'chain: cancelled long ago, nothing follows'
rm -rf swept .swept.tries
batch chain.sbatch KSWEEP_AFTER=4 BEFORE=forgotten ACCOUNTED=TIMEOUT
is "$? $(told '^srun')" '0 1' 'chain: ended long ago, it goes on'
rm -rf swept .swept.tries
batch chain.sbatch KSWEEP_AFTER=4 WARNED=1
is "$? $(told '^srun') $(told '^sbatch') $(told '^scancel')" '0 0 1 0' \
    'chain: told to end before it began, the successor goes on'
rm -rf swept .swept.tries
batch many_nodes.sbatch next=99
is "$? $(told '^scancel')" '0 0' 'no chain: nothing is cancelled, whatever the environment says'
rm -rf swept .swept.tries
batch chain.sbatch SRUN=2
is "$? $(told '^scancel 77')" '2 1' 'chain: refused, nothing follows'

# --- a script for a job

rm -rf swept .swept.tries
ksweep slurm "$tiny_job" --nodes 2 --per-node 3 --walltime 30m --out swept --partition p1 --script job.sbatch
is $? 0 'ksweep slurm writes a script'
ok 'which bash reads' bash -n job.sbatch
for want in '#SBATCH --nodes=2' '#SBATCH --ntasks-per-node=3' '#SBATCH --time=00:30:00' '#SBATCH --partition=p1' \
    '##SBATCH --account=NAME' '#SBATCH --signal=B:USR1@300' '#SBATCH --requeue'; do
    is "$(grep -cxF -- "$want" job.sbatch)" 1 "it has the line $want"
done
is "$(grep -c 'gpus' job.sbatch)" 0 'no GPUs for a job of the host'
is "$(grep -c '^#SBATCH.* --.* --' job.sbatch)" 0 'one option per line'
script() { # as batch, for that script
    rm -f told
    env PATH="$tap_tmp/players:$PATH" TOLD="$tap_tmp/told" SLURM_JOB_ID=5 SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=4 \
        SLURM_SUBMIT_DIR="$tap_tmp" XDG_CACHE_HOME="$tap_tmp/cache" SRUN=run "$@" timeout 30 bash job.sbatch >said 2>&1
}
script LEFT=10:00
is "$? $(exit_of swept)" '0 0' 'and it measures the job'
ksweep slurm "$tiny_job" --nodes 1 --chain --out swept --script job.sbatch
rm -rf swept
script LEFT=10:00 SRUN=drained
is "$? $(told '^sbatch .*job.sbatch')" '0 1' 'with --chain its successor is submitted'
ksweep slurm quickstart --cache 'no ne' --script job.sbatch
like "$(grep '^ks_options=' job.sbatch)" "^ks_options=\( --cache '/.*/no ne' \)" 'the cache goes to the run, by its full path'
ok 'an installed job, by its bare name: the script has its file' bash -c "$(grep '^job=/' job.sbatch)"'
test -r "$job"'
for name in $'p1\n#SBATCH --begin=now+1year' 'p1 --begin=now' ''; do
    rc_is 2 "'$name' is no partition" ksweep slurm "$tiny_job" --partition "$name" --script other.sbatch
    like "$(tr '\n' ' ' <err)" "--partition '.*' is not a name of Slurm: use letters" 'with what a name has'
    rc_is 2 'and no account' ksweep slurm "$tiny_job" --account "$name" --script other.sbatch
    not_ok 'nothing is written' test -e other.sbatch
done
rc_is 2 'a walltime that can never work is refused' ksweep slurm "$tiny_job" --walltime 5m
like "$(cat err)" 'is too short.*at least [0-9]+m' 'with the least that can'

# --- the limit that Slurm tells, and what to ask of it

SLURM_JOB_END_TIME=$(($(date +%s) + 5)) ksweep run "$tiny_job" --out late --cache "$tiny_cache" >late.out 2>&1
like "$(cat late.out)" '^max-time: .*15 pending' 'SLURM_JOB_END_TIME less the grace is the limit'
SLURM_JOB_END_TIME=$(($(date +%s) + 5)) ksweep run "$tiny_job" --out late --resume --max-time 60s \
    --cache "$tiny_cache" >late.out 2>&1
is "$(exit_of late)" 0 '--max-time overrides it'

SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 rc_is 2 'ranks that srun started without PMIx are refused' \
    ksweep run "$tiny_job" --out alone
like "$(cat "$tap_tmp/err")" 'srun --mpi=pmix' 'with the fix'
SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 rc_is 2 'every one of them' ksweep run "$tiny_job" --out alone
is "$(cat "$tap_tmp/err")" '' 'but one tells'

is "$(sed -n '/^    #SBATCH --job-name/,/^    tries=/s/^    //p' "$KSWEEP_SOURCE_DIR/docs/cluster.md")" \
    "$(sed -n '3,10p' "$KSWEEP_SOURCE_DIR/slurm/many_nodes.sbatch")" 'docs/cluster.md shows the first ten lines'

# For one CPU, wherever the test runs: what it can measure is what there is to distribute.
# Longer than the job itself, so that one node is not enough.
sed -E "s#\"\.\./#\"$KSWEEP_SOURCE_DIR/#; s#\"(problems/)#\"$KSWEEP_SOURCE_DIR/jobs/\\1#; s#\"max_ms\": *[0-9]+#\"max_ms\": 2000#; s#\"max_samples\": *[0-9]+#\"max_samples\": 1000#; s#\"target_rse\": *[0-9.]+#\"target_rse\": 0.001#" \
    "$KSWEEP_SOURCE_DIR/jobs/forward.json" >long.json
request() { ksweep plan long.json --arch x86-64-v4 --json "$@"; }
request --per-node 2 --walltime 10m >request.json
/usr/bin/python3 - >verdict <<'END'
import json, math
r = json.load(open("request.json"))
def expected(n):
    return max(r["device_s"] / (n * r["per_node"]), r["longest_problem_s"])
def request(n):
    return math.ceil((1.25 * expected(n) + 300) / 300) * 300
def seconds(text):
    h, m, s = text.split(":")
    return int(h) * 3600 + int(m) * 60 + int(s)
for c in r["choices"] + [r["fit"]]:
    assert abs(c["expected_s"] - expected(c["nodes"])) < 1e-6 * c["expected_s"], c
    assert seconds(c["time"]) == request(c["nodes"]), c
n = r["fit"]["nodes"]
assert request(n) <= 600 and (n == 1 or request(n - 1) > 600), n
assert r["choices"][-1]["expected_s"] <= 1.0001 * r["longest_problem_s"]
print("right", n > 1)
END
is "$(cat verdict)" 'right True' 'plan: the fewest nodes for a walltime, and no more than are of use'
like "$(ksweep plan "$KSWEEP_SOURCE_DIR/jobs/forward.json" --per-node 8)" \
    'with 1 node x 8 devices: .*; request --nodes=1 --time=[0-9:]+$' 'plan: as sbatch wants it'
like "$(ksweep plan "$KSWEEP_SOURCE_DIR/jobs/forward.json" --per-node 8 --walltime 6m)" \
    'not possible in one job of 6 min: about [0-9]+ in a row' 'plan: too long for one job'
done_testing
