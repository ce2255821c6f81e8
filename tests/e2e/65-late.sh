#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# A host that stands still for longer than --lost-after and comes back while the sweep goes on.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
need_hosts 3

# Enough is left when the host comes back, also where freezing it took seconds.
sed 's/sleep_us=4000/sleep_us=12000/' "$lost_job" >"$tap_tmp/slow.json"
LOST_JOB=$tap_tmp/slow.json
begin late h0:1,h1:2,h2:1
ok 'the sweep begins' settles 60 acked 100
host freeze h1
ok 'the sweep goes on without it' settles 60 is_lost '. on h1'
host thaw h1
ends_within 40 'mpirun ends'
whole h1 'late'
like "$(cat "$dir.log")" 'on h1 is back' 'it was heard of again'
gone 'those that were frozen leave'
done_testing
