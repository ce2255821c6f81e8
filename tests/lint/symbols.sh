#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbols.sh BUILD_DIR - the modules' libraries hold no writable data: no file-scope state.
. "$(dirname "$0")/lib.sh"
build=${1:-}
[ -n "$build" ] || cannot "no build directory given"
need objdump

# Instrumentation adds counters of its own.
grep -qE '^KSWEEP_SANITIZE:[A-Z]*=.+|^KSWEEP_COVERAGE:[A-Z]*=(ON|1|TRUE|YES)' \
    "$build/CMakeCache.txt" 2>/dev/null && cannot "$build is instrumented"

libraries=$(find "$build" -name 'libks_*.a' | sort)
[ -n "$libraries" ] || {
    echo "$build:1: no libks_*.a; is it built?"
    exit 1
}

# Constant tables with pointers lie in .data.rel.ro, which the loader makes read-only.
while read -r lib; do
    objdump -t "$lib" 2>/dev/null | awk -v lib="${lib##*/}" '
        /^[^ ]+: +file format/ { object = $1; sub(/:$/, "", object) }
        {
            # value, 7 flag characters, section, size, name
            section = $0; sub(/^[0-9a-f]+ ......./, "", section); sub(/^ /, "", section)
            split(section, part, /[ \t]+/)
            if (part[1] !~ /^(\.t?data|\.t?bss|\*COM\*)/ || part[1] ~ /^\.data\.rel\.ro/)
                next
            name = part[3] == ".hidden" ? part[4] : part[3]
            if (part[2] ~ /[1-9a-f]/)
                print lib ":" object ": " name " is file-scope state in " part[1]
        }'
done <<<"$libraries" | verdict
