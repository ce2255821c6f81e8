#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# faults_run.sh [BACKEND ARCH] - the job faults.json as a run of ksweep, with its retries and fresh workers,
# on the device at hand (default: cuda sm_90), and the outcome of each instance against faults.expect.
#
# Results go to $OUT/faults-run (default ./gpu-report/faults-run), what was said to faults-run.txt beside it.
# KSWEEP_BIN: programs, default build/bin; KSWEEP_GPU_CACHE: the build cache; KSWEEP_FAULTS_JOB: another job.
# Exit: 0 all outcomes are as expected, 1 not, or the run did not complete.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${KSWEEP_BIN:-$here/../../build/bin}
job=${KSWEEP_FAULTS_JOB:-$here/faults.json}
backend=${1:-cuda} arch=${2:-sm_90}
mkdir -p "${OUT:-./gpu-report}" && out=$(cd "${OUT:-./gpu-report}" && pwd) || exit 2
cache=${KSWEEP_GPU_CACHE:-$out/cache}
mkdir -p "$cache" && chmod 700 "$cache" || exit 2
rm -rf "$out/faults-run"
"$bin/ksweep" run "$job" --backend "$backend" --arch "$arch" --out "$out/faults-run" --cache "$cache" \
    >"$out/faults-run.txt" 2>&1
run=$? # 1: complete, and some cells failed, as they should
echo "ksweep run: exit $run, $(tail -n 2 "$out/faults-run.txt" | head -n 1)"
"$bin/ksweep-analyze" table "$out/faults-run/results.h5" -o "$out/faults-run.csv" || exit 1

[ $run -le 1 ] || tail -n 5 "$out/faults-run.txt"
# Columns before `reason` hold no commas.
awk -v backend="$backend" -v run="$run" '
function glob(pattern) { gsub(/\*/, ".*", pattern); return "^" pattern "$" }
function wanted(name,   i) {
    for (i = 1; i <= n; i++)
        if (name ~ instance[i] && (on[i] == "any" || on[i] == backend)) return outcomes[i]
    return "?"
}
NR == FNR { sub(/#.*/, ""); if (NF >= 3) { n++; instance[n] = glob($1); on[n] = $2; outcomes[n] = $3 }; next }
FNR == 1 { m = split($0, head, ","); for (i = 1; i <= m; i++) at[head[i]] = i; next }
{
    split($0, field, ",")
    name = field[at["instance_name"]]; is = field[at["outcome"]]; want = wanted(name)
    good = is == "unsupported" || index("|" want "|", "|" is "|") > 0
    cells++; bad += !good
    printf "%-6s %-28s %-16s after %s attempts%s\n", good ? "ok" : "not ok", name, is, field[at["n_attempts"]], good ? "" : " [expected: " want "]"
}
END { printf "%d of %d outcomes are not as expected\n", bad, cells; exit bad > 0 || cells == 0 || run > 1 }
' "$here/faults.expect" "$out/faults-run.csv"
