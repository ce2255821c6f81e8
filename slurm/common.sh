# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# common.sh - sourced by the batch scripts beside it, which set
#
#   job      the job file
#   out      the run's directory, on a file system that all nodes share
#   ksweep   the program
#   lead_s   seconds before the time limit at which Slurm sends USR1 (--signal=B:USR1@...): measuring
#            ends before it, so that there is time to gather
#   tries    give up when so many starts in a row bring no new outcome
#   ks_options  (optional) an array: further options of ksweep run
#
# and call ks_main, or ks_chain where jobs may not be requeued. What it ends with: 0 every cell has its outcome, 2 the job or the arguments are
# wrong, or can never work, 3 incomplete: submit again, it goes on where it stopped. A link of a chain
# whose successor goes on ends with 0.

# One task of an array has the id of the whole array: that would mean all of them.
ks_id=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
ks_id=${ks_id:-$SLURM_JOB_ID}
ks_signal=0
trap 'ks_signal=1' USR1 TERM # from here on
next= # (chain) the id of the job that waits behind this one; the environment may have one

ks_most_s=4000000 # ksweep's --max-time; whoever has more has no limit

# In the clock and form of ksweep's own log, in which "rank 0" stands where this has "batch".
ks_say() { echo "$(date -u +%FT%TZ) info batch job $ks_id: $*"; }
ks_die() { ks_say "$2"; ks_drop_next; exit "$1"; }

ks_seconds() { # [[D-]HH:]MM:SS; fails for anything else (UNLIMITED)
    local days=0 text=$1 h m s
    [[ $text =~ ^([0-9]+-)?[0-9:]+$ ]] || return 1
    case $text in *-*) days=${text%%-*} text=${text#*-} ;; esac
    IFS=: read -r h m s <<<"$text"
    case $text in
    *:*:*) ;;
    *:*) s=$m m=$h h=0 ;;
    *) return 1 ;;
    esac
    echo $((10#$days * 86400 + 10#$h * 3600 + 10#$m * 60 + 10#$s))
}

# Seconds until the time limit, which may have been changed; nothing when there is none.
ks_left_s() {
    ks_seconds "$(timeout 60 squeue -h -j "$ks_id" -o %L 2>/dev/null)" && return
    [ -z "${SLURM_JOB_END_TIME:-}" ] || echo $((SLURM_JOB_END_TIME - $(date +%s)))
}

# A time limit that leaves no time to measure is no reason to requeue: it would never work.
ks_check_limit() {
    local limit cell
    limit=$(ks_seconds "$(timeout 60 squeue -h -j "$ks_id" -o %l 2>/dev/null)") || return 0
    cell=0
    [ -d "$out" ] || cell=$("$ksweep" plan "$job" ${ks_options[@]+"${ks_options[@]}"} --json 2>/dev/null |
        sed -n 's/^ *"longest_cell_s": *\([0-9]*\).*/\1/p')
    [ "$limit" -gt $((lead_s + ${cell:-0})) ] ||
        ks_die 2 "a time limit of $limit s is too short: measuring stops lead_s=$lead_s s before it, and the longest cell may take ${cell:-0} s; give a longer --time"
}

ks_check() {
    ulimit -c 0 # workers may crash by the thousand
    [ -r "$job" ] || ks_die 2 "job file '$job' does not exist or cannot be read"
    out=$(realpath -m -- "$out")
    mkdir -p "$(dirname "$out")" || ks_die 2 "cannot create the directory of '$out'"
    ks_memory=$(dirname "$out")/.$(basename "$out").tries
    # srun no longer takes this from the batch job since Slurm 22.05.
    [ -n "${SLURM_CPUS_PER_TASK:-}" ] && export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
    [ -z "${SLURM_GPUS_ON_NODE:-}" ] ||
        [ "$SLURM_GPUS_ON_NODE" -eq "${SLURM_NTASKS_PER_NODE:-$SLURM_GPUS_ON_NODE}" ] ||
        ks_say "$SLURM_NTASKS_PER_NODE ranks but $SLURM_GPUS_ON_NODE GPUs per node; use one rank per GPU"
    ks_check_limit
}

# Nodes that failed are no longer the job's (--no-kill), but srun would still ask for them.
ks_find_nodes() {
    local n list
    ks_nodes=()
    read -r n list < <(timeout 60 squeue -h -j "$ks_id" -o '%D %N' 2>/dev/null)
    if [ -n "${list:-}" ] && [ "$n" -lt "$SLURM_JOB_NUM_NODES" ]; then
        ks_say "$n of $SLURM_JOB_NUM_NODES nodes are left: $list"
        ks_nodes=(--nodes="$n" --nodelist="$list"
            --ntasks=$((SLURM_NTASKS * n / SLURM_JOB_NUM_NODES)))
    fi
}

# One life of the sweep. Sets ks_rc; ks_signal when Slurm told us to end.
ks_run() { # LEFT, "" = no limit
    local -a args=("$job" ${ks_options[@]+"${ks_options[@]}"} --out "$out")
    [ -d "$out" ] && args+=(--resume)
    [ -n "$1" ] && [ "$1" -lt "$ks_most_s" ] &&
        args+=(--max-time "$(($1 - lead_s))s" --grace "$((lead_s / 2))s")
    ks_find_nodes
    ks_say "ksweep run ${args[*]}"
    # With its other way Slurm 22.05 lets ranks out of MPI's start while some of a node are still in
    # it, and their first message kills those: docs/cluster.md.
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}
    # Every rank binds its own worker, from what Slurm left it: cores near its device.
    srun --mpi=pmix --no-kill --kill-on-bad-exit=0 --cpu-bind=none "${ks_nodes[@]}" \
        "$ksweep" run "${args[@]}" &
    ks_srun=$!
    # TERM would make srun kill the ranks at once.
    trap 'ks_signal=1; ks_say "signal received, finishing"; kill -USR1 "$ks_srun"' USR1 TERM
    ks_rc=129
    while [ "$ks_rc" -gt 128 ] && kill -0 "$ks_srun" 2>/dev/null; do
        wait "$ks_srun"
        ks_rc=$?
    done
    trap 'ks_signal=1' USR1 TERM
}

ks_status() { "$ksweep" status "$out" --exit-code >/dev/null 2>&1; }
ks_stamp() { stat -c '%i %y' "$out/status.json" 2>/dev/null; }
ks_done() { "$ksweep" status "$out" --json 2>/dev/null | sed -n 's/^ *"done": *\([0-9]*\).*/\1/p'; }
ks_reason() { sed -n 's/^ *"reason": *"\(.*\)".*/\1/p' "$out/status.json" 2>/dev/null; }

# Sets ks_idle: the starts without a new outcome, over all lives of the sweep; fails at $tries.
ks_advances() {
    local last=0 now
    now=$(ks_done)
    ks_idle=0
    [ -r "$ks_memory" ] && read -r last ks_idle <"$ks_memory"
    ks_idle=$((${now:-0} > last ? 0 : ks_idle + 1))
    echo "${now:-0} $ks_idle" >"$ks_memory"
    [ $ks_idle -lt "$tries" ]
}

# Whoever submits it again has mended something.
ks_give_up() { rm -f "$ks_memory"; ks_die 3 "$tries starts without a new outcome; giving up"; }

ks_complete() {
    # A run that had to hurry leaves this for later.
    if [ ! -e "$out/results.h5" ] || [ -n "$(find "$out/journal" -newer "$out/results.h5")" ]; then
        "$ksweep" gather "$out" || ks_die 3 "complete, but the results could not be gathered; run 'ksweep gather $out'"
    fi
    rm -f "$ks_memory"
    ks_drop_next
    "$ksweep" status "$out"
    ks_say "complete: $out/results.h5"
    exit 0
}

ks_drop_next() { [ -z "$next" ] || scancel "$next"; }

# Later, in another allocation; but not for ever.
ks_again() {
    # Slurm mails and accounts for what ends with another status; the sweep's is in status.json.
    [ -z "$next" ] || { ks_say "job $next continues the sweep"; exit 0; }
    for _ in {1..30}; do
        # A job that is being cancelled must not come back.
        case $(squeue -h -j "$ks_id" -o %T 2>/dev/null) in
        RUNNING) ;;
        '') sleep 10; continue ;; # the controller is away
        *) exit 3 ;;
        esac
        ks_say "requeued"
        scontrol requeue "$ks_id" ||
            ks_die 3 "cannot be requeued; submit it again, or use chain.sbatch, which needs no requeueing"
        sleep 60 # Slurm ends this shell
        exit 3
    done
    ks_die 3 "the Slurm controller does not answer; submit the job again"
}

ks_main() {
    local left stamp reason
    ks_check
    while :; do
        left=$(ks_left_s)
        if [ "$ks_signal" -ne 0 ] || { [ -n "$left" ] && [ "$left" -le "$lead_s" ]; }; then
            ks_say "${left:-no} s left, too little to start"
            ks_advances || ks_give_up
            ks_again
        fi
        stamp=$(ks_stamp)
        ks_run "$left"
        reason=died
        [ "$stamp" != "$(ks_stamp)" ] && reason=$(ks_reason)
        case $ks_rc$reason in 2died | *refused:*) ks_die 2 "refused, see the message above" ;; esac
        ks_status
        [ $? -le 1 ] && ks_complete
        ks_say "incomplete ($reason), srun exited with status $ks_rc"
        [ "$ks_rc" -ne 3 ] || ks_say "(srun's 'Exited with exit code 3' above means the same: incomplete, can be resumed)"
        ks_advances || ks_give_up
        case $ks_signal$reason in 1* | 0max-time | 0SIG*) ks_again ;; esac
        # What failed at once may have to be noticed first: a node, the controller.
        sleep $((60 * ks_idle)) &
        wait $!
    done
}

# As ks_main, but where the job would be requeued its successor goes on, which is submitted before
# anything can go wrong, and cancelled when every cell has its outcome. SCRIPT ARG...: what to submit.
ks_chain() {
    local state
    if [ -n "${KSWEEP_AFTER:-}" ]; then
        state=$(scontrol show job "$KSWEEP_AFTER" 2>/dev/null)
        # The controller forgets a job after minutes, accounting does not.
        state=${state:-$(sacct -nXPo State -j "$KSWEEP_AFTER" 2>/dev/null)}
        case $state in *JobState=CANCELLED* | CANCELLED*)
            ks_say "job $KSWEEP_AFTER of this chain was cancelled: the chain ends"
            exit 3
            ;;
        esac
    fi
    next=$(sbatch --parsable --dependency="afterany:$SLURM_JOB_ID" \
        --export="ALL,KSWEEP_AFTER=$SLURM_JOB_ID" "$@") || ks_say "the next job could not be submitted"
    next=${next%%;*} # the cluster's name, where there are several
    ks_main
}
