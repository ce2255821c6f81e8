#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# One short turn of the soak (tests/soak.sh).
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
/usr/bin/python3 -c 'import h5py' 2>/dev/null || skip_all "no python3-h5py"

export KSWEEP_SOAK_DIR=$tap_tmp/soak
bash "$KSWEEP_SOURCE_DIR/tests/soak.sh" 0.05 "${KSWEEP_SOAK_SEED:-5}" --only zoo --small \
    --report "$tap_tmp/report.md" >"$tap_tmp/soak.log" 2>&1
rc=$?
tap_note "$(grep '^[0-9][0-9]:' "$tap_tmp/soak.log")"
is $rc 0 'one sweep, broken and completed: every cell once, and right' ||
    tap_note "$(cat "$tap_tmp/soak.log")"
report=$(cat "$tap_tmp/report.md")
like "$report" '^\| cells lost \| 0 \|$' 'the report counts'
like "$report" '1 sweeps of bad and good kernels, [0-9]+ cells, [0-9]+ faults' 'what was done'
unlike "$report" 'Findings' 'and has nothing to tell'
ok 'nothing stays mounted' bash -c "! grep -q '$tap_tmp' /proc/mounts"
done_testing
