#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# Hosts that lose their power or stand still: one, two at once. The sweep goes on with the others, and
# so does whoever waits for mpirun.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
need_hosts 4

begin off h0:1,h1:1,h2:1,h3:1
ok 'power off: the sweep begins' settles 60 acked 100
host kill h1
ends_within 40 'power off: mpirun ends, though it waits for the lost host'
whole h1 'power off'
gone 'power off: nobody is left'

host down
host up 4
begin two h0:1,h1:1,h2:1,h3:1
ok 'two hosts: the sweep begins' settles 60 acked 100
host kill h1
host freeze h2
ends_within 40 'two hosts: mpirun ends'
whole 'h1 h2' 'two hosts'
host thaw h2
gone 'two hosts: nobody is left when the frozen one moves again'
done_testing
