#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# The job that is shipped for a GPU that is none.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1

gpu_run 1 shipped "$KSWEEP_SOURCE_DIR/jobs/fake_hip.json" devices=1
is "$(exit_of shipped)" 0 'jobs/fake_hip.json: complete'
is "$(summary shipped)" '22 ok;6 unsupported' 'every cell that can run is ok'
done_testing
