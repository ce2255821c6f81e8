# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# judged.sh - sourced behind fake-hip.sh: a sweep of four cells, verified on the device, is in clean;
# its job in job.json.
#
#   $judge                    filter of a fault: the judge's launches
#   $n_before, $later         launches of the judge before a worker measures; in one of its first cells
#   struck_once FAULT..       a sweep each, where that strikes the judge once: in once1, once2 ...
cd "$tap_tmp" || exit 1

n_cells=4
gpu_job 1 "$few" >job.json
judge=block=256

gpu_run 0 clean job.json ""
is "$(exit_of clean) $(summary clean) $(judged clean)" "0 $n_cells ok 0 1 2 3 4 5 6 7" 'all cells are verified on the device'
unlike "$(cat clean.err)" 'the host verifies' 'which is nothing to be said'
# Launches of the judge in the first worker before it measures anything, and a few of its first cells.
first=$(awk '$3 == "launch" { print $1; exit }' clean.log)
n_before=$(awk -v pid="$first" '$1 == pid && $3 == "launch" { if ($6 != 256) exit; n++ } END { print n }' clean.log)
ok 'it is tried before it is believed' test "$n_before" -gt 10
later=$((n_before + 20))

struck_once() {
    local fault n=0
    for fault; do
        n=$((n + 1))
        gpu_run 1 "once$n" job.json "fault=$fault:$judge,once=$tap_tmp/token$n"
        is "$(exit_of once$n) $(summary once$n)" "0 $n_cells ok" "$fault: every cell is ok in the end"
        ok "$fault: it did strike" test -e "token$n.0"
    done
}
