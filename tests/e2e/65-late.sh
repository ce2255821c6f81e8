#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# A host that stands still for longer than --lost-after and comes back while the sweep goes on.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
need_hosts 3

begin late h0:1,h1:2,h2:1
ok 'the sweep begins' settles 20 acked 100
host freeze h1
ok 'the sweep goes on without it' settles 20 is_lost '. on h1'
host thaw h1
ends_within 40 'mpirun ends'
whole h1 'late'
like "$(cat "$dir.log")" 'on h1 is back' 'it was heard of again'
gone 'those that were frozen leave'
done_testing
