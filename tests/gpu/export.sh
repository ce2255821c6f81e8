#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# export.sh [DIR] - writes the grids of the jobs beside it (*.grid, docs/grid-file.md) to DIR, by
# default beside them: what run.sh reads on a machine without JSON. To be run after a change of a job,
# a list, a config, a family or the way of measuring; tests/e2e/19-grid-file.sh tells when. The arch
# only fills in what run.sh replaces by that of the device.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${KSWEEP_BIN:-$here/../../build/bin}
out=${1:-$here}
for job in conformance sweep repeat peer verify_forward verify_backward_data verify_backward_weight; do
    "$bin/ksweep" plan "$here/$job.json" --backend cuda --arch sm_90 --export-grid "$out/$job.grid" || exit 1
done
