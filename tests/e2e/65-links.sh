#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# A network cut between hosts: shorter than --lost-after, longer, and for good.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
need_hosts 3

lost_after=4
begin short h0:1,h1:1,h2:1
ok 'short cut: the sweep begins' settles 60 acked 100
host cut h1
sleep 1
host heal h1
ends_within 40 'short cut: mpirun ends'
whole '' 'short cut'
gone 'short cut: nobody is left'

lost_after=2
begin long h0:1,h1:1,h2:1
ok 'long cut: the sweep begins' settles 60 acked 100
host cut h2
ok 'long cut: those behind it are given up' settles 60 is_lost '. on h2'
host heal h2
ends_within 40 'long cut: mpirun ends'
whole h2 'long cut'
gone 'long cut: nobody is left'

begin good h0:1,h1:2,h2:1
ok 'cut for good: the sweep begins' settles 60 acked 100
host cut h1
ends_within 40 'cut for good: mpirun ends, though it has not noticed'
whole h1 'cut for good'
gone 'cut for good: those behind the cut leave by themselves'
done_testing
