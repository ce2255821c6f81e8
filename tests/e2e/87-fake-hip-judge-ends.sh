#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Who verifies on a GPU: where it ends its worker, another goes on; where it is always wrong, nothing is believed.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
. "$(dirname "$0")/judged.sh"

# One that hangs ends with the deadline of its cell, which is the sum of all that a cell may take.
struck_once "fault@$later" "abort@$later"
gpu_run 1 always job.json "fault=wrong@1-:$judge"
is "$(exit_of always)" 3 'one that is always wrong: incomplete'
like "$(cat always.err)" 'stops measuring: the canary failed twice: .*verification kernel' 'and it is said why'
is "$(field always "done")" 0 'nothing was believed'
done_testing
