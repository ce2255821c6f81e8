#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Hosts without a common cache: what one has compiled goes to the others through the network, also
# when the host that hands it out, or the one that compiles, loses its power.
# group: mpi netns
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
. "$(dirname "$0")/own-caches.sh"
need_program ksweep ksweep-worker cc
need_hosts 3

sweep() { # [HOST AFTER]: a rank on each host; HOST loses its power when AFTER succeeds
    local launcher
    rm -rf "$tap_tmp/run" "$COMPILED"
    : >"$COMPILED"
    timeout 60 "$lost_kit/mpirun_hosts.sh" h0:1,h1:1,h2:1 ${CHAOS:+-x KSWEEP_CHAOS=$CHAOS} "$own_host" \
        "$KSWEEP_BIN/ksweep" run "$own_job" --out "$tap_tmp/run" --oversubscribe --lost-after 3s \
        </dev/null >"$tap_tmp/said" 2>&1 &
    launcher=$!
    if [ $# -gt 0 ]; then
        settles 60 "${@:2}"
        host kill "$1"
    fi
    wait $launcher
}

sweep
complete "three hosts"
is "$(compiled)" "$n_instances $n_instances" "each instance is compiled once"
is "$(has 1) $(has 2)" "$n_instances $n_instances" "and both others have it"
is "$(digests 1) $(digests 2)" "$(digests 0) $(digests 0)" "to the byte"

rm -rf "${own_caches:?}/0" "$own_caches/2"
# rank 1 stands still when it is first asked, and its host dies then
asked() {
    local p
    for p in $(host pids h1); do
        grep -q '^State:.T' "/proc/$p/status" 2>/dev/null && return 0
    done
    return 1
}
CHAOS=send:1:stop@1 sweep h1 asked
complete "the host that hands out dies" 1
is "$(compiled)" "$n_instances $n_instances" "what nobody has any more is compiled once"
is "$(has 0) $(has 2)" "$n_instances $n_instances" "and handed out"
done_testing
