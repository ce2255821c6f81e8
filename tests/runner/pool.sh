# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# pool.sh - sourced by tests/run.sh: programs that print TAP, side by side.
#
# In lanes: `work` has as many at a time as there are CPUs; `wait` half as many again of those that
# wait most of the time ("# waits: yes" in their file); `slurm` as many of those that bring a
# cluster of daemons. Whoever waits goes before those that compute, when its wait is over. When none of
# those is left, their places go to `work`, whose tests do not keep a core busy all the time either.
#
#   pool LANE LIMIT NAME GROUPS COMMAND...   puts it in the queue; LIMIT in seconds
#   pool_run                                 runs all, takes each result when it comes
declare -A lane_width=([work]=$jobs [wait]=$((jobs + (jobs + 1) / 2)) [slurm]=$jobs)
declare -A lane_nice=([work]=5 [wait]=0 [slurm]=0)
longest=tests/runner/longest # names, in the order in which they begin; all others follow
pool_lanes=() pool_limits=() pool_names=() pool_groups=() pool_commands=()

pool() {
    pool_lanes+=("$1") pool_limits+=("$2") pool_names+=("$3") pool_groups+=("$4")
    shift 4
    pool_commands+=("$(printf '%q ' "$@")")
}

pool_order() { # indices of the queue, as they begin
    printf '%s\n' "${pool_names[@]}" | awk -v list="$longest" '
        BEGIN { while ((getline name <list) > 0) at[name] = ++n }
        { print ($0 in at ? at[$0] : n + 1) "\t" NR - 1 }' | sort -s -k 1,1n | cut -f 2
}

# One of the queue in the background, in a session of its own so that the limit ends all of it.
pool_start() { # INDEX
    local out=$run_tmp/pool.$1 rc=0 start
    (
        start=$(now)
        eval "nice -n ${lane_nice[${pool_lanes[$1]}]} timeout -k 5 ${pool_limits[$1]} ${pool_commands[$1]}" >"$out" 2>&1 </dev/null || rc=$?
        times >"$out.times"
        echo "$rc $(since "$start") $(sum_times "$out.times")" >"$out.rc"
    ) &
}

# The result of one; a second time there is nothing to take.
pool_take() { # INDEX
    local rc=1 seconds=0 cpu=0 out=$run_tmp/pool.$1 # where whoever waited for it was killed
    [ -e "$out.taken" ] && return
    [ -s "$out.rc" ] && read -r rc seconds cpu <"$out.rc"
    take_tap "${pool_names[$1]}" "$out" "$rc" "$seconds" "${pool_groups[$1]}" "$cpu"
    : >"$out.taken"
}

pool_run() {
    local i lane pid n_wait started drained='' last=''
    local -A n_in=([work]=0 [wait]=0 [slurm]=0) lane_of=() index_of=()
    local -a waiting
    [ ${#pool_names[@]} -gt 0 ] || return 0
    mapfile -t waiting < <(pool_order)
    started=$(now)
    while :; do
        n_wait=0
        for i in "${!waiting[@]}"; do
            [ "${pool_lanes[waiting[i]]}" = wait ] && n_wait=$((n_wait + 1))
        done
        [ $((n_wait + n_in[wait])) -gt 0 ] || lane_width[work]=${lane_width[wait]}
        for i in "${!waiting[@]}"; do
            lane=${pool_lanes[waiting[i]]}
            [ "${n_in[$lane]}" -lt "${lane_width[$lane]}" ] || continue
            pool_start "${waiting[i]}"
            lane_of[$!]=$lane index_of[$!]=${waiting[i]}
            n_in[$lane]=$((n_in[$lane] + 1))
            unset "waiting[i]"
        done
        [ ${#waiting[@]} -gt 0 ] || drained=${drained:-$(since "$started")}
        wait -n -p pid
        if [ -n "${pid:-}" ]; then
            lane=${lane_of[$pid]:-}
            [ -n "$lane" ] && n_in[$lane]=$((n_in[$lane] - 1))
            [ -n "${index_of[$pid]:-}" ] && pool_take "${index_of[$pid]}" && last=${pool_names[${index_of[$pid]}]}
        elif [ ${#waiting[@]} -eq 0 ]; then # nobody runs
            break
        else # the end of one that was killed is not always told
            n_in=([work]=0 [wait]=0 [slurm]=0)
        fi
    done
    for i in "${!pool_names[@]}"; do
        pool_take "$i"
    done
    rm -f "$run_tmp"/pool.*
    echo "queue: the last of ${#pool_names[@]} programs began after $drained s; $last ended last"
    pool_lanes=() pool_limits=() pool_names=() pool_groups=() pool_commands=()
}
