#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [BUILD_DIR] - every check of this directory as one TAP test each; ends with 1 when one fails.
# Checks of built programs are skipped without BUILD_DIR. With KSWEEP_REQUIRE set a check that cannot
# run for lack of a tool fails; one that needs a build directory that was not given is skipped.
# $KSWEEP_LINT_ROOT: another tree to check.
set -u
dir=$(cd "$(dirname "$0")" && pwd)
build=${1:-}
if [ -n "$build" ]; then
    build=$(cd "$build" && pwd) || exit 1
fi
checks='layers backends headers lengths format spdx purpose words pages symbols links manual'
n=0 bad=0

echo "1..$(wc -w <<<"$checks")"
for check in $checks; do
    n=$((n + 1))
    out=$("$dir/$check.sh" ${build:+"$build"} 2>&1)
    rc=$?
    if [ "$rc" -eq 77 ] && { [ -z "${KSWEEP_REQUIRE:-}" ] || [ -z "$build" ]; }; then
        echo "ok $n - $check # SKIP $out"
        continue
    fi
    [ "$rc" -eq 0 ] && echo "ok $n - $check" && continue
    bad=1
    echo "not ok $n - $check"
    printf '# %s\n' "${out//$'\n'/$'\n# '}"
done
exit $bad
