#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Ranks without a common cache: who compiles, hands out or receives dies or stands still.
# group: mpi
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/own-caches.sh"
need_program ksweep ksweep-worker python3 cc mpirun

prepare
KSWEEP_CHAOS=send:2@1 sweep 3
complete "the sender is killed" 1
read -r n n_different < <(compiled)
ok "what nobody has any more is compiled" [ "$n" -gt 0 ]
is "$n" "$n_different" "once"
is "$(has 0) $(has 2)" "$n_instances $n_instances" "and handed out"

prepare
KSWEEP_CHAOS=send:1:stop@1 sweep 3
complete "the sender stands still" 1
is "$(compiled)" "$n_instances $n_instances" "that is compiled once, too"

prepare
cp -r "$own_caches/1" "$own_caches/2"
KSWEEP_CHAOS=send:1@1 sweep 3
complete "one of two senders is killed" 1
is "$(wc -l <"$COMPILED")" 0 "the other hands it out"

prepare
KSWEEP_CHAOS=fetch:1@2 sweep 4
complete "a receiver is killed" 2
is "$(wc -l <"$COMPILED") $(has 3)" "0 $n_instances" "the others get everything"

rm -rf "$own_caches"
OTHER_CC=0 KILLED_BY_CC=1 sweep 3
complete "who compiles is killed" 1
is "$(compilers)" "0 1 2" "another one does it"
is "$(has 2)" "$n_instances" "all of it"
done_testing
