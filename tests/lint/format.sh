#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clang-format would change nothing in src, analysis and tests.
. "$(dirname "$0")/lib.sh"
need clang-format

sources 'c h' src analysis tests |
    xargs -r -n 40 -P2 clang-format --dry-run --Werror --style=file 2>&1 |
    sed -n 's/^\([^ :]*:[0-9]*\):[0-9]*: error: .*/\1: clang-format -i would change this file/p' |
    sort -u -t: -k1,1 | verdict
