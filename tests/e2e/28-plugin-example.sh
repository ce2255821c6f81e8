#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The plug-in of docs/plugins.md is built, and runs behind the fake HIP runtime.
# group: hip-headers
. "$(dirname "$0")/tap.sh"
need_program cc
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
[ -f /usr/include/hip/hip_runtime_api.h ] || skip_all "no HIP headers (apt-get install libamdhip64-dev)"

fake=$(dirname "$KSWEEP_BIN")/lib/libamdhip64.so.6
cp -r "$KSWEEP_SOURCE_DIR/examples/plugin" example
ok 'built for the emulator' env HIP_LIB="$fake" "$KSWEEP_SOURCE_DIR/examples/plugin/build.sh" emu example
KSWEEP_HIP_LIBRARY=$fake ksweep run example/job.json --out run >run.out 2>run.err
is $? 0 'it runs' || sed 's/^/# /' run.err
is "$(field run ok) $(field run cells)" '6 6' 'every cell is ok'
if command -v clang-19 >/dev/null; then
    ok 'built for gfx942' env HIP_LIB="$fake" "$KSWEEP_SOURCE_DIR/examples/plugin/build.sh" gfx942 example
fi
rc_is 2 'an arch that nobody knows' "$KSWEEP_SOURCE_DIR/examples/plugin/build.sh" sparc example
done_testing
