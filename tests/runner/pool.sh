# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# pool.sh - sourced by tests/run.sh: programs that print TAP, side by side.
#
# In lanes: `work` has as many at a time as there are CPUs, `wait` twice as many of tests that wait
# most of the time ("# waits: yes" in their file), `slurm` as many as CPUs of those that bring a
# cluster of daemons. In each lane those that take long begin first.
#
#   pool LANE LIMIT LONG NAME GROUPS COMMAND...   puts it in the queue; LIMIT in seconds, LONG: about
#                                                 how many it takes (only for the order)
#   pool_run                                      runs all, takes the results in the order of the queue
declare -A lane_width=([work]=$jobs [wait]=$((2 * jobs)) [slurm]=$jobs)
pool_lanes=() pool_limits=() pool_long=() pool_names=() pool_groups=() pool_commands=()

pool() {
    pool_lanes+=("$1") pool_limits+=("$2") pool_long+=("$3") pool_names+=("$4") pool_groups+=("$5")
    shift 5
    pool_commands+=("$(printf '%q ' "$@")")
}

# About how long a test takes, as its file says: "# seconds: 40". Without that it is short.
seconds_of() { # FILE
    local n
    n=$(sed -n 's/^# seconds: *\([0-9]*\)$/\1/p' "$1")
    echo "${n:-0}"
}

pool_order() { # indices, the longest first, else as they were put
    local i
    for i in "${!pool_names[@]}"; do echo "${pool_long[i]} $i"; done | sort -s -k 1,1nr | cut -d ' ' -f 2
}

# One of the queue in the background, in a session of its own so that the limit ends all of it.
pool_start() { # INDEX
    local out=$run_tmp/pool.$1 rc=0 start
    (
        start=$(now)
        eval "timeout -k 5 ${pool_limits[$1]} ${pool_commands[$1]}" >"$out" 2>&1 </dev/null || rc=$?
        echo "$rc $(since "$start")" >"$out.rc"
    ) &
}

pool_take() { # the results of all
    local i rc seconds
    for i in "${!pool_names[@]}"; do
        rc=1 seconds=0 # where whoever waited for it was killed
        [ -s "$run_tmp/pool.$i.rc" ] && read -r rc seconds <"$run_tmp/pool.$i.rc"
        take_tap "${pool_names[i]}" "$run_tmp/pool.$i" "$rc" "$seconds" "${pool_groups[i]}"
    done
    rm -f "$run_tmp"/pool.*
    pool_lanes=() pool_limits=() pool_long=() pool_names=() pool_groups=() pool_commands=()
}

pool_run() {
    local i lane pid
    local -A n_in=([work]=0 [wait]=0 [slurm]=0) lane_of=()
    local -a waiting
    mapfile -t waiting < <(pool_order)
    while :; do
        for i in "${!waiting[@]}"; do
            lane=${pool_lanes[waiting[i]]}
            [ "${n_in[$lane]}" -lt "${lane_width[$lane]}" ] || continue
            pool_start "${waiting[i]}"
            lane_of[$!]=$lane
            n_in[$lane]=$((n_in[$lane] + 1))
            unset "waiting[i]"
        done
        wait -n -p pid
        if [ -n "${pid:-}" ]; then
            lane=${lane_of[$pid]:-}
            [ -n "$lane" ] && n_in[$lane]=$((n_in[$lane] - 1))
        elif [ ${#waiting[@]} -eq 0 ]; then # nobody runs
            break
        else # the end of one that was killed is not always told
            n_in=([work]=0 [wait]=0 [slurm]=0)
        fi
    done
    pool_take
}
