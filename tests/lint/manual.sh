#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manual.sh BUILD_DIR - the option tables in docs/manual.md are those that `PROGRAM help --markdown`
# prints: no row is missing, none is left over.
. "$(dirname "$0")/lib.sh"
build=${1:-}
[ -n "$build" ] || cannot "no build directory given"

printed=$(mktemp) written=$(mktemp)
trap 'rm -f "$printed" "$written"' EXIT

{
    for program in ksweep ksweep-analyze; do
        file=$build/bin/$program
        if [ ! -x "$file" ]; then
            echo "$file:1: not built"
        elif ! "$file" help --markdown >"$printed.one" 2>/dev/null </dev/null; then
            echo "$file:1: '$program help --markdown' fails"
        else
            grep '^| `-' "$printed.one" >>"$printed"
        fi
        rm -f "$printed.one"
    done
    cat docs/manual.md /dev/null 2>/dev/null | grep '^| `-' | sort -u >"$written"
    sort -u -o "$printed" "$printed"
    comm -23 "$printed" "$written" | sed 's|^|docs/manual.md:1: no such row: |'
    comm -13 "$printed" "$written" | sed 's|^|docs/manual.md:1: no program prints this row: |'
} | verdict
