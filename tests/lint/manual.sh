#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manual.sh BUILD_DIR [--write] - docs/manual.md is what the programs print with `help --markdown`, one
# after the other. --write: writes it.
. "$(dirname "$0")/lib.sh"
build=${1:-}
[ -n "$build" ] || cannot "no build directory given"

print_all() {
    local program between=
    for program in ksweep ksweep-analyze ksweep-worker ksweep-profiler ksweep-gpu; do
        printf '%s' "$between"
        "$build/bin/$program" help --markdown 2>/dev/null </dev/null || echo "$program" >>"$failed"
        between=$'\n'
    done
}

printed=$(mktemp) failed=$(mktemp)
trap 'rm -f "$printed" "$failed"' EXIT
print_all >"$printed"
if [ "${2:-}" = --write ] && [ ! -s "$failed" ]; then
    cp "$printed" docs/manual.md
fi
{
    while read -r program; do
        echo "$build/bin/$program:1: '$program help --markdown' fails"
    done <"$failed"
    # The first lines that differ; all after a program that says nothing would.
    [ -s "$failed" ] || diff "$printed" docs/manual.md 2>&1 |
        sed -n -e 's|^< |docs/manual.md:1: no such line: |p' -e 's|^> |docs/manual.md:1: no program prints this line: |p' \
            -e 's|^diff: |docs/manual.md:1: |p' | head -n 20
} | verdict
