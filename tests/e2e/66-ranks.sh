#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# Ranks that are killed or stand still, rank 0 and mpirun among them, between hosts.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
need_hosts 3

begin two h0:1,h1:2,h2:1
ok 'two ranks: the sweep begins' settles 60 acked 100
kill -KILL "$(rank_of 3)"
late=$(rank_of 1)
kill -STOP "$late"
ok 'two ranks: the one that stands still is given up' settles 60 is_lost '1 on h1'
kill -CONT "$late"
ends_within 40 'two ranks: mpirun ends'
whole 'h1 h2' 'one killed, one stopped for a while'
gone 'two ranks: nobody is left'

begin zero h0:2,h1:1,h2:1
ok 'rank 0: the sweep begins' settles 60 acked 100
kill -KILL "$(rank_of 0)"
ends_within 20 'rank 0 killed: mpirun ends'
gone 'rank 0 killed: the others leave by themselves'
is "$(exit_of "$dir")" 3 'rank 0 killed: resumable'
n=$(acked)
is $((n >= 100 && n < 1000)) 1 "rank 0 killed: in the middle ($n cells)"
begin zero h0:1,h1:2,h2:1 --resume
ok 'mpirun: the sweep goes on' settles 60 acked $((n + 100))
kill -KILL "$(pgrep -f "^mpirun .* --out $dir ")"
gone 'mpirun killed: everybody ends'
wait "$launcher"
is "$(exit_of "$dir")" 3 'mpirun killed: resumable'
begin zero h0:1,h1:2,h2:1 --resume
ends_within 40 'and the third run'
whole '' 'killed twice, resumed twice'
gone 'nobody is left'
done_testing
