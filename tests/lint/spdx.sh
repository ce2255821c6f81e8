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
} | sort -u | xargs -r awk '
    FNR == 1 { is_told = 0; n_first = /^#!/ ? 2 : 1 }
    FNR <= n_first && /SPDX-License-Identifier: MIT/ { is_told = 1 }
    FNR == n_first && is_told { told[FILENAME] = 1; nextfile }
    FNR >= n_first { nextfile }
    END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in told)) print ARGV[i] ":1: no SPDX line" }' | sort | verdict
