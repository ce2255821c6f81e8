#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# What stands still without being dead: the disk of rank 0 for longer than --lost-after, a warden.
# The segments of shared memory have no names that a killed rank could leave behind.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc python3
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
shim=$tap_tmp/odd_fs.so
cc -shared -fPIC -O1 -o "$shim" "$KSWEEP_SOURCE_DIR/tests/fake/odd_fs.c" -ldl

local_begin() { # NAME RANKS ARG...
    dir=$tap_tmp/$1
    local n=$2
    shift 2
    KSWEEP_ACK_LOG=$dir.acks ODD_FS_DIR=$dir ODD_FS_STALL=$dir.gate ranks "$n" \
        env LD_PRELOAD="$shim" ksweep run "$lost_job" --out "$dir" --cache "$tiny_cache" \
        --lost-after ${lost_after}s "$@" </dev/null >>"$dir.log" 2>&1 &
    launcher=$!
}
named_segments() { # of those that the ranks of this run have mapped
    local p
    for p in $(rank_of 0) $(rank_of 1) $(rank_of 2); do
        sed -n 's|^.* \(/.*/vader_segment\..*\)$|\1|p' "/proc/$p/maps"
    done | sort -u
}

local_begin disk 3
ok 'disk: the sweep begins' settles 60 acked 100
like "$(named_segments)" 'vader_segment.*deleted' 'shared memory: in use'
unlike "$(named_segments)" 'vader_segment[^ ]*$' 'shared memory: without a name'
: >"$dir.gate"
sleep 1
n=$(acked)
sleep $((2 * lost_after + 1))
is "$(acked)" "$n" 'disk: nothing is acknowledged while it stands still'
rm "$dir.gate"
ends_within 40 'disk: then it goes on'
whole '' 'disk'
like "$(cat "$dir.log")" 'did not run for [0-9.]* s' 'disk: and it is told'
unlike "$(cat "$dir.log")" 'system call|ORTE_ERROR_LOG' 'shared memory: Open MPI does not miss it'
gone 'disk: nobody is left'

local_begin warden 3
ok 'warden: the sweep begins' settles 60 acked 100
warden=$(rank_of 1 ksweep-warden)
kill -STOP "$warden"
ends_within 40 'warden: one that is stopped does not hold up the end'
whole '' 'warden'
like "$(cat "$dir.log")" 'rank 1 .*its warden is gone' 'warden: it counts as gone'
ok 'warden: and is' has_ended "$warden"
gone 'warden: nobody is left'
done_testing
