#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Who verifies on a GPU: what strikes the judge once costs no cell its outcome.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
. "$(dirname "$0")/judged.sh"

struck_once "skip@$((n_before / 2))" "wrong@$later" "skip@$later"
like "$(h5rows once2/results.h5 attempts outcome_text reason)" 'launch_failed	verification kernel '\''[a-z]+'\'': ' \
    'what was not judged has no other outcome'
done_testing
