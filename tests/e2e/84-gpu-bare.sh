#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where a cmake is that does not work, the compiler alone builds what runs on a GPU.
. "$(dirname "$0")/tap.sh"
need_program cc
. "$(dirname "$0")/gpu-bare.sh"

check 'with a compiler alone, behind a cmake that fails' plain conformance CMAKE=false
like "$(cat plain/conformance.txt)" '^0 of [0-9]+ bad$' 'the device keeps its contract'
done_testing
