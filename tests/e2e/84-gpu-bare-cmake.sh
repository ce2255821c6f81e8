#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cmake -DKSWEEP_WORKER_ONLY=ON builds what runs on a GPU, and nothing else.
. "$(dirname "$0")/tap.sh"
need_program cmake cc
. "$(dirname "$0")/gpu-bare.sh"

check 'with cmake' cmake CMAKE=cmake
like "$(cat cmake/build/CMakeCache.txt)" '^KSWEEP_WORKER_ONLY:BOOL=ON$' 'with cmake: nothing else is built'
done_testing
