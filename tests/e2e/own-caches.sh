# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# own-caches.sh - sourced behind tap.sh and sweep.sh by tests of ranks that have a build cache each.
#
#   $own_host COMMAND...  starts it as a rank on a host of its own: with a cache of its own,
#                         $own_caches/RANK, and perhaps with another compiler ($OTHER_CC: of which rank)
#   $own_job              $n_instances (60) instances; each compilation is written down in $COMPILED: "rank instance"
#                         ($KILLED_BY_CC: whom its first one kills)
#   sweep RANKS           of $own_job into $tap_tmp/run: all of them measure, from caches as they are
#   prepare               rank 1 alone has everything
#   compiled              "instances different ones" that were compiled
#   compilers             ranks that compiled
#   has RANK              how many instances its cache has
#   digests RANK          of all objects that it has
#   complete WHAT [RANK]  the run in $tap_tmp/run is; RANK: whose cache is left as it was when it died
own_caches=$tap_tmp/caches own_host=$tap_tmp/host own_job=$tap_tmp/k/many.json
export COMPILED=$tap_tmp/compiled
n_instances=${n_instances:-60}

mkdir "$tap_tmp/k"
cp "$KSWEEP_SOURCE_DIR"/tests/fake/unit.{k,h,family.json} "$tap_tmp/k"
head -n 2 "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" >"$tap_tmp/k/one.csv"
python3 - "$tap_tmp/k" $n_instances <<'END_OF_JOB'
import json, sys
json.dump({"family": "unit.family.json", "instances": [{"index": list(range(int(sys.argv[2])))}]},
          open(sys.argv[1] + "/config.json", "w"))
json.dump({"name": "many", "operator": "grouped_conv", "kernels": [{"config": "config.json"}],
           "problems": [{"file": "one.csv"}], "device": {"backend": "host"},
           "measure": {"warmup_ms": 0, "min_samples": 3, "max_samples": 3, "max_ms": 10,
                       "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
           "verify": {"exact": False, "elementwise": False}},
          open(sys.argv[1] + "/many.json", "w"))
END_OF_JOB

# A compiler that writes down which instances it compiles and for whom, and may kill that rank.
cat >"$tap_tmp/cc" <<'END_OF_CC'
#!/bin/sh
if grep -qs "^#define KS_NAME" unit.c && [ ! -f unit.o ]; then
    sed -n "s/^#define KS_NAME \"\(.*\)\"/$OMPI_COMM_WORLD_RANK \1/p" unit.c >>"$COMPILED"
    [ "$OMPI_COMM_WORLD_RANK" = "$KILLED_BY_CC" ] && kill -9 "$(cat "$COMPILED.pid.$KILLED_BY_CC")"
fi
exec cc "$@"
END_OF_CC
# Between hosts of namespaces nothing of the environment gets there.
cat >"$own_host" <<END_OF_PATHS
#!/bin/sh
export XDG_CACHE_HOME="$own_caches/\$OMPI_COMM_WORLD_RANK" KSWEEP_CC="$tap_tmp/cc"
export COMPILED="$COMPILED" PATH="$PATH"
END_OF_PATHS
cat >>"$own_host" <<'END_OF_HOST'
r=$OMPI_COMM_WORLD_RANK
[ "$r" = "$OTHER_CC" ] && export KSWEEP_CC="$KSWEEP_CC -DOTHER"
echo $$ >"$COMPILED.pid.$r"
exec "$@"
END_OF_HOST
chmod +x "$tap_tmp/cc" "$own_host"

sweep() { # RANKS
    rm -rf "$tap_tmp/run" "$COMPILED"
    : >"$COMPILED"
    timeout 60 "$tap_tmp/launch" "$1" >"$tap_tmp/said" 2>&1
    rc=$?
    [ $rc -ne 124 ] || sed 's/^/# /' "$tap_tmp/said"
}
# In a file of its own, so that `timeout` can start it.
{
    echo '#!/usr/bin/env bash'
    declare -f ranks
    echo "ranks \$1 '$own_host' ksweep run '$own_job' --out '$tap_tmp/run'" \
        "--oversubscribe --lost-after 3s"
} >"$tap_tmp/launch"
chmod +x "$tap_tmp/launch"

compiled() { # instances, and how many different ones
    echo "$(wc -l <"$COMPILED") $(sort -u <(cut -d ' ' -f 2 "$COMPILED") | wc -l)"
}
compilers() { # ranks that compiled
    cut -d ' ' -f 1 "$COMPILED" | sort -u | paste -sd ' '
}
has() { # RANK: how many instances its cache has
    find "$own_caches/$1/ksweep/host/instances" -type l ! -name '.tmp-*' 2>/dev/null | wc -l
}
digests() { # RANK: of all objects that it has
    sha256sum "$own_caches/$1"/ksweep/host/*/kernels.so | cut -c 1-64 | sort | sha256sum
}
complete() { # WHAT [RANK]: whose cache is left as it was when it died
    is "$(field "$tap_tmp/run" cells) $(field "$tap_tmp/run" pending)" "$n_instances 0" \
        "$1: every cell has its outcome"
    rm -rf "$own_caches/${2:-none}"
    is "$(find "$own_caches" -name '.tmp-*' -o -path '*/claims/*' | wc -l)" 0 "$1: nothing unfinished is left"
}
prepare() {
    if [ ! -d "$tap_tmp/full" ]; then
        sweep 2
        mv "$own_caches/1" "$tap_tmp/full"
    fi
    rm -rf "$own_caches"
    mkdir "$own_caches"
    cp -r "$tap_tmp/full" "$own_caches/1"
}
