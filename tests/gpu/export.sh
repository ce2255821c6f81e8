#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# export.sh [DIR] - writes the grids of the jobs beside it (*.grid, docs/grid-file.md) to DIR, by
# default beside them: what run.sh reads on a machine without JSON. Run it after a change of a job, a
# list, a config, a family or the condition; tests/e2e/25-grid-file.sh fails when the grids are out of
# date. The arch is a placeholder: run.sh replaces it by that of the device.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${KSWEEP_BIN:-$here/../../build/bin}
out=${1:-$here}
for job in conformance sweep repeat peer gemm faults verify_forward verify_backward_data verify_backward_weight verify_gemm; do
    "$bin/ksweep" plan "$here/$job.json" --backend cuda --arch sm_90 --export-grid "$out/$job.grid" || exit 1
done
