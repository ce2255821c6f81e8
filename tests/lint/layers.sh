#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every #include in src, analysis and kernels is an edge of layers.txt.
. "$(dirname "$0")/lib.sh"

sources 'c h k' src analysis kernels | xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include' |
    awk -v table="$LINT_DIR/layers.txt" '
    BEGIN {
        while ((getline line < table) > 0) {
            if (line ~ /^#/ || line !~ /:/)
                continue
            name = line; sub(/:.*/, "", name)
            rest = line; sub(/^[^:]*:/, "", rest)
            if (name ~ /^</) {
                owners[substr(name, 2)] = rest " "
            } else {
                may[name] = " " name rest " "
            }
        }
    }
    {
        split($0, at, ":")
        delete dir
        split(at[1], dir, "/")
        module = dir[1] == "src" ? dir[2] : dir[1]
        if (module == "analysis" && dir[3] != "")
            module = "analysis/" dir[2]
        where = at[1] ":" at[2] ": "
        what = $0; sub(/^[^:]*:[^:]*:[^<"]*/, "", what); sub(/[>"][^>"]*$/, "", what)
        if (!(module in may)) {
            print where "module " module " is not in layers.txt"
        } else if (what ~ /^</) {
            what = substr(what, 2)
            for (prefix in owners)
                if (index(what, prefix) == 1 && !index(owners[prefix], " " module " "))
                    print where module " may not include <" what ">"
        } else {
            what = substr(what, 2)
            n = split(what, part, "/")
            if (part[1] == "analysis" && n > 2)
                part[1] = "analysis/" part[2]
            if (n == 1 && module != "kernels")
                print where "write \"" what "\" as module/" what
            else if (n > 1 && !index(may[module], " " part[1] " "))
                print where module " may not include " what
        }
    }' | verdict
