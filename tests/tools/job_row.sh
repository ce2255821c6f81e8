#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# job_row.sh [--dir DIR] JOB... - builds and runs jobs with two ranks, prints the rows of docs/jobs.md.
# DIR keeps what the runs write; default: a temporary directory. $KSWEEP_BIN: where the programs are.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${KSWEEP_BIN:-$root/build/bin}:$PATH
dir=''
if [ "${1:-}" = --dir ] && [ $# -ge 2 ]; then
    dir=$2
    shift 2
fi
[ $# -ge 1 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
if [ -z "$dir" ]; then
    dir=$(mktemp -d) || exit 1
    trap 'rm -rf "$dir"' EXIT
fi

seconds() { # COMMAND...: its output to a log, its wall time to stdout
    local from
    from=$(date +%s%N)
    "$@" >>"$dir/log" 2>&1
    awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.0f s", ns / 1e9 }'
}

launch=(mpirun -n 2 --bind-to none --enable-recovery)
[ "$(id -u)" -eq 0 ] && launch+=(--allow-run-as-root)
for job in "$@"; do
    name=$(basename "$job" .json)
    rm -rf "${dir:?}/cache" "${dir:?}/$name"
    build=$(seconds ksweep build "$job" --cache "$dir/cache")
    sweep=$(seconds "${launch[@]}" ksweep run "$job" --out "$dir/$name" --cache "$dir/cache")
    /usr/bin/python3 - "$dir/$name/results.h5" "$name" "$build" "$sweep" <<'END' ||
import statistics, sys
import h5py
path, name, build, sweep = sys.argv[1:]
times = {}
with h5py.File(path) as f:
    rows = f["measurements"][:]
count = lambda what: int((rows["outcome_text"] == what).sum())
for r in rows[rows["outcome_text"] == b"ok"]:
    times.setdefault(int(r["problem_id"]), []).append((float(r["time_median_ns"]), int(r["instance_id"])))
spread = statistics.median(max(t)[0] / min(t)[0] for t in times.values())
best = len({min(t)[1] for t in times.values()})
other = len(rows) - count(b"ok") - count(b"aliased") - count(b"unsupported")
if other:
    sys.exit(f"{name}: {other} cells have another outcome")
print(f"| `{name}` | {build} | {sweep} | {count(b'ok')} | {count(b'aliased')} | "
      f"{count(b'unsupported')} | {spread:.1f} | {best} |")
END
        { tail -n 20 "$dir/log" >&2; exit 1; }
done
