#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# The host of rank 0 and mpirun stands still: the others leave, another host takes the sweep over, and
# what comes back does no harm.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
need_hosts 3

begin head h0:1,h1:1,h2:1
ok 'the sweep begins' settles 60 acked 100
host freeze h0
none_but_0() { [ -z "$(rank_of 1)$(rank_of 2)" ]; }
ok 'the ranks of the other hosts leave' settles $((3 * lost_after + 10)) none_but_0
is "$(exit_of "$dir")" 3 'resumable'
elsewhere() { # ARG...: on h1, without a launcher
    KSWEEP_ACK_LOG=$dir.acks host exec h1 "$KSWEEP_BIN/ksweep" run "$lost_job" --out "$dir" \
        --cache "$tiny_cache" --resume "$@"
}
rc_is 3 'an owner that was heard of a minute ago is not robbed' elsewhere
like "$(cat "$tap_tmp/err")" "on host 'h0'.*--take-over" 'and the way is named'
rc_is 0 'another host takes over and completes it' elsewhere --take-over
host thaw h0
ends_within 30 'thawed: the old owner leaves, and mpirun with it'
like "$(cat "$dir.log")" 'was taken over by another process' 'and says why'
whole '' 'taken over'
gone 'nobody is left'
done_testing
