#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi netns
# The map over several hosts: every host on its own, refused by all when one of them is wrong.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/lost.sh"
. "$(dirname "$0")/binding.sh"
need_hosts 3
[ "$(nproc)" -ge 2 ] || skip_all 'one core'

job=$tap_tmp/devices.json
sed 's/"arch": "[^"]*"/"arch": "n_devices=2,sleep_us=200"/' "$lost_job" >"$job"
map() { # HOSTS [MPIRUN-OPTION...]
    local hosts=$1
    shift
    timeout 20 "$lost_kit/mpirun_hosts.sh" "$hosts" "$@" "$KSWEEP_BIN/ksweep" plan "$job" \
        --show-binding >"$tap_tmp/map" 2>"$tap_tmp/map.err" </dev/null
    echo $? >"$tap_tmp/rc"
    seats "$tap_tmp/map"
}

a=0000:10:00.0 b=0000:11:00.0
is "$(map h0:2,h1:2,h2:1)" "0 h0 $a;1 h0 $b;2 h1 $a;3 h1 $b;4 h2 $a" 'node-local ranks, rank by rank'
like "$(cat "$tap_tmp/map")" "^h2: no rank measures on $b" 'a device without a rank, and where'
is "$(map h0:2,h1:2 --map-by node)" "0 h0 $a;1 h1 $a;2 h0 $b;3 h1 $b" 'ranks dealt out to the nodes'
is "$(map h0:1,h1:3)" "0 h0 $a;1 h1 $a;2 h1 $b;3 h1 -" 'one rank too many on one node'
is "$(grep -c 'ksweep plan: h1: no device for rank 3' "$tap_tmp/map.err")" 1 'one line names node and rank'

unlike "$(cat "$tap_tmp/rc")" 124 'and mpirun ends'

dir=$tap_tmp/refused
timeout 20 "$lost_kit/mpirun_hosts.sh" h0:1,h1:3 "$KSWEEP_BIN/ksweep" run "$job" \
    --out "$dir" </dev/null >"$dir.log" 2>&1
unlike $? 124 'a refused run ends'
like "$(cat "$dir.log")" 'ksweep run: h1: no device for rank 3' 'the run is refused by all ranks'
is "$(grep -c 'no device for\|leaves\|lost' "$dir.log")" 1 'in one line'
ok 'before anything was written' test ! -e "$dir"
gone 'nobody is left'

LOST_JOB=$job begin good h0:2,h1:2
wait "$launcher" # what mpirun returns proves nothing: it was 1 after a complete sweep
is "$(exit_of "$dir")" 0 'a sweep on two devices of two nodes is complete'
is "$(ksweep-analyze table "$dir/results.h5" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++)
    at[$i] = i; next } { print $at["device_id"] }' | sort -u | wc -l)" 4 'four device ids'
done_testing
