#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clang-format would change nothing in src, analysis and tests.
. "$(dirname "$0")/lib.sh"
need clang-format

said=$(sources 'c h' src analysis tests |
    xargs -r clang-format --dry-run --Werror --style=file 2>&1)
rc=$?
{
    sed -n 's/^\([^ :]*:[0-9]*\):[0-9]*: error: .*/\1: clang-format -i would change this file/p' \
        <<<"$said" | sort -u -t: -k1,1
    if [ $rc -ne 0 ] && ! grep -q ': error: ' <<<"$said"; then
        echo ".clang-format:1: clang-format fails: $said"
    fi
} | verdict
