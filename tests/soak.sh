#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: tests/soak.sh MINUTES [SEED] [--report FILE] [--only scale,long,zoo,hosts,slurm,emulator]
# Sweeps under faults of every kind for so long (see tests/tools/soak.py), then the count. MINUTES
# are those of the parts long, zoo and hosts; scale, slurm and emulator come on top.
set -eu
usage() {
    sed -n '3,5s/^# //p' "$0" >&2
    exit 2
}
[ $# -ge 1 ] && [[ $1 =~ ^[0-9.]+$ ]] || usage
minutes=$1 seed=1
shift
if [ $# -ge 1 ] && [[ $1 =~ ^[0-9]+$ ]]; then
    seed=$1
    shift
fi
top=$(cd "$(dirname "$0")/.." && pwd)
out=${KSWEEP_SOAK_DIR:-$(mktemp -d)}

# Whatever the end: nothing stays mounted, frozen or running. A bad sweep's directory is kept.
clean() {
    local d
    [ -z "$pid" ] || { kill "$pid" && wait "$pid" || true; } 2>/dev/null
    for d in "$out"/*/disk; do
        mountpoint -q "$d" || continue
        fsfreeze -u "$d" 2>/dev/null || true
        umount -l "$d"
    done
    for d in "$out"/*/hosts; do
        [ -d "$d" ] && KSWEEP_HOSTS_DIR=$d bash "$top/tests/tools/cluster/hosts.sh" down
    done
    if ls -d "$out"/*/kept >/dev/null 2>&1; then
        echo "kept: $out" >&2
    elif [ -z "${KSWEEP_SOAK_DIR-}" ]; then
        rm -rf "$out"
    fi
}
pid=
trap clean EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$out/cache
/usr/bin/python3 "$top/tests/tools/soak.py" --bin "${KSWEEP_BIN:-$top/build/bin}" --out "$out" \
    --minutes "$minutes" --seed "$seed" "$@" &
pid=$!
rc=0
wait "$pid" || rc=$?
pid=
exit "$rc"
