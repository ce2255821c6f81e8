#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every source, script and build file names its license in the first line, or in the second one
# after an interpreter line.
. "$(dirname "$0")/lib.sh"

# Scripts without an extension are known by their interpreter line.
scripts_without_extension() {
    find src analysis kernels jobs slurm tests docs .ci -type f -not -name '*.*' \
        -exec grep -lI '^#!' {} + 2>/dev/null
}

{
    sources 'c h k py sh cmake sbatch' src analysis kernels jobs slurm tests cmake docs .ci
    find . -name CMakeLists.txt -not -path './build*' | sed 's|^\./||'
    scripts_without_extension
} | sort -u | while read -r f; do
    line=$(head -n 1 "$f")
    [ "${line#'#!'}" != "$line" ] && line=$(sed -n 2p "$f")
    case $line in
    *'SPDX-License-Identifier: MIT'*) ;;
    *) echo "$f:1: no SPDX line" ;;
    esac
done | verdict
