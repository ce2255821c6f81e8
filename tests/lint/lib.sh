# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh - sourced by the checks. A check prints one line per violation, "file:line: what", and ends
# with 0 when there is none, 1 when there are some, 77 (and the reason) when it cannot run here.
#
# $KSWEEP_LINT_ROOT: the tree to check; default: the tree these scripts stand in.
set -u
shopt -s nullglob
export LC_ALL=C

LINT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LINT_ROOT=${KSWEEP_LINT_ROOT:-$(cd "$LINT_DIR/../.." && pwd)}
export LINT_DIR LINT_ROOT
cd "$LINT_ROOT" || exit 1

cannot() { # REASON
    echo "$1"
    exit 77
}

need() { # PROGRAM...
    local p
    for p in "$@"; do
        command -v "$p" >/dev/null 2>&1 || cannot "$p is not installed"
    done
}

sources() { # 'EXTENSIONS' DIR...: files below the directories that exist, sorted
    local extensions=$1 dir e
    local -a names=()
    shift
    for e in $extensions; do
        names+=(-o -name "*.$e")
    done
    for dir in "$@"; do
        [ -d "$dir" ] && find "$dir" -type f \( "${names[@]:1}" \) -not -path '*/__pycache__/*'
    done | sort
}

# Prints what it reads; the status is that of a check.
verdict() {
    local lines
    lines=$(cat)
    [ -z "$lines" ] && exit 0
    printf '%s\n' "$lines"
    exit 1
}
