#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every #include in src, analysis and kernels is an edge of layers.txt, and the table of modules in docs/architecture.md has
# the same edges (there the kernels' ABI is called `abi`).
. "$(dirname "$0")/lib.sh"

documented() { # the table's rows against layers.txt
    awk -v table="$LINT_DIR/layers.txt" '
    function sorted(words,    n, part, i, j, t, out) {
        n = split(words, part, " ")
        for (i = 1; i < n; i++)
            for (j = i + 1; j <= n; j++)
                if (part[j] < part[i]) { t = part[i]; part[i] = part[j]; part[j] = t }
        for (i = 1; i <= n; i++)
            out = out " " part[i]
        return out
    }
    BEGIN {
        while ((getline line < table) > 0)
            if (line ~ /^[a-z]/) {
                name = line; sub(/:.*/, "", name)
                sub(/^[^:]*:/, "", line); sub(/ kernels/, " abi", line)
                may[name ~ /^analysis|^kernels/ ? name : "src/" name] = sorted(line)
            }
        delete may["kernels"]
    }
    $1 == "|" && $2 ~ /^`(src|analysis)\/.*`$/ {
        name = substr($2, 2, length($2) - 2)
        edges = $0; sub(/^[^|]*\|[^|]*\|/, "", edges); sub(/\|.*/, "", edges); gsub(/[,-]/, " ", edges)
        if (may[name] != sorted(edges))
            print FILENAME ":" FNR ": " name " may include" may[name] " (layers.txt)"
        is_there[name] = 1
    }
    END {
        for (name in may)
            if (!is_there[name])
                print FILENAME ":1: the table of modules lacks " name
    }' docs/architecture.md
}

{
    [ -f docs/architecture.md ] && documented
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
        }'
} | verdict
