#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Devices that are lost for every process.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

# --- a device is lost

gpu_job 2 "$few" >two.json
gpu_run 1 two two.json devices=1
n_launches=$(awk '$3 == "launch" && $6 == 64' two.log | wc -l)
gpu_run 2 lost two.json "devices=2,lost=$tap_tmp/lost-devices,fault=lost@12:device=0"
is "$(exit_of lost)" 0 'one of two devices is lost: complete'
is "$(summary lost)" '8 ok' 'nothing is missing'
is "$(cat lost-devices)" A 'the device was lost for every process'
like "$(cat lost.err)" 'rank 0 on .*: stops measuring' 'its rank says so'
is "$(awk '$2 == 0 && $3 == "launch" { print $1 }' lost.log | sort -u | wc -l)" 1 \
    'no other worker launches anything there'

gpu_run 0 all two.json "lost=$tap_tmp/lost-all,fault=lost@$((n_launches / 2)):block=64"
is "$(exit_of all)" 3 'the only device is lost: incomplete'
like "$(cat all.err all.out)" 'no rank is left to measure' 'and it is said why'
n_done=$(field all "done")
ok 'what was measured stays' test "$n_done" -gt 0 -a "$n_done" -lt 8
gpu_run 0 all two.json devices=1 --resume
is "$(exit_of all)" 0 'resumed on a device that works: complete'
is "$(summary all)" '8 ok' 'nothing is missing'
done_testing
