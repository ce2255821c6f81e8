#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions have at most 60 lines, .c and .k files 600, .h files 300.
. "$(dirname "$0")/lib.sh"
need ctags
ctags --version | grep -q Universal || cannot "universal-ctags is not installed"

max_function=60 max_source=600 max_header=300
files=$(sources 'c k h' src analysis kernels tests)

# KS_FN(name) is how a kernel template spells a function's name.
by_ctags() {
    set -o pipefail
    ctags -L - -D 'KS_FN(x)=x' --langmap=C:+.k.h --kinds-C=f --fields=+ne --sort=no -f - \
        <<<"$files" | awk -F'\t' -v max=$max_function '
        {
            first = last = 0
            for (i = 4; i <= NF; i++) {
                if ($i ~ /^line:/)
                    first = substr($i, 6)
                if ($i ~ /^end:/)
                    last = substr($i, 5)
            }
            n = last - first + 1
            if (last && n > max)
                print $2 ":" first ": function " $1 " has " n " lines, " max " are allowed"
        }' || echo ".:1: ctags fails"
}

# A body that ctags did not see as a function, by its braces in the first column.
by_braces() {
    # shellcheck disable=SC2016
    xargs -r awk -v max=$max_function '
        FNR == 1 { start = 0 }
        /^[{]/ && before ~ /[)]$/ { start = FNR }
        /^[}]/ && start {
            n = FNR - start + 1
            if (n > max)
                print FILENAME ":" start ": a body has " n " lines, " max " are allowed"
            start = 0
        }
        { before = $0 }' <<<"$files"
}

by_file() {
    xargs -r wc -l | awk -v source=$max_source -v header=$max_header '
        $2 == "total" { next }
        {
            max = $2 ~ /[.]h$/ ? header : source
            if ($1 > max)
                print $2 ":" $1 ": the file has " $1 " lines, " max " are allowed"
        }'
}

[ -z "$files" ] && exit 0
{
    by_ctags
    by_braces
    by_file <<<"$files"
} | sort -u | verdict
