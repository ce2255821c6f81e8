#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks without a common cache: one of them compiles, the others get it from there, whoever dies.
# group: mpi
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
need_program ksweep ksweep-worker python3 cc mpirun
export COMPILED=$tap_tmp/compiled CACHES=$tap_tmp/caches
n_instances=60 lost_after=3s

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

# A compiler that writes down what it compiles and for whom, and may kill that rank.
cat >"$tap_tmp/cc" <<'END_OF_CC'
#!/bin/sh
if [ -f unit.c ] && [ ! -f unit.o ]; then
    sed -n "s/^#define KS_NAME \"\(.*\)\"/$OMPI_COMM_WORLD_RANK \1/p" unit.c >>"$COMPILED"
    [ "$OMPI_COMM_WORLD_RANK" = "$KILLED_BY_CC" ] && kill -9 "$(cat "$COMPILED.pid.$KILLED_BY_CC")"
fi
exec cc "$@"
END_OF_CC
# Each rank as on a host of its own: a cache, and perhaps another compiler ($OTHER_CC: of which).
cat >"$tap_tmp/host" <<'END_OF_HOST'
#!/bin/sh
r=$OMPI_COMM_WORLD_RANK
export XDG_CACHE_HOME="$CACHES/$r"
[ "$r" = "$OTHER_CC" ] && export KSWEEP_CC="$KSWEEP_CC -DOTHER"
echo $$ >"$COMPILED.pid.$r"
exec "$@"
END_OF_HOST
chmod +x "$tap_tmp/cc" "$tap_tmp/host"
export KSWEEP_CC=$tap_tmp/cc

sweep() { # RANKS: all of them measure, from caches as they are
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
    echo "ranks \$1 '$tap_tmp/host' ksweep run '$tap_tmp/k/many.json' --out '$tap_tmp/run'" \
        "--oversubscribe --lost-after $lost_after"
} >"$tap_tmp/launch"
chmod +x "$tap_tmp/launch"

compiled() { # instances, and how many different ones
    echo "$(wc -l <"$COMPILED") $(sort -u <(cut -d ' ' -f 2 "$COMPILED") | wc -l)"
}
compilers() { # ranks that compiled
    cut -d ' ' -f 1 "$COMPILED" | sort -u | paste -sd ' '
}
has() { # RANK: how many instances its cache has
    find "$CACHES/$1/ksweep/host/instances" -type l ! -name '.tmp-*' 2>/dev/null | wc -l
}
digests() { # RANK: of all objects that it has
    sha256sum "$CACHES/$1"/ksweep/host/*/kernels.so | cut -c 1-64 | sort | sha256sum
}
complete() { # WHAT [RANK]: whose cache is left as it was when it died
    is "$(field "$tap_tmp/run" cells) $(field "$tap_tmp/run" pending)" "$n_instances 0" \
        "$1: every cell has its outcome"
    rm -rf "$CACHES/${2:-none}"
    is "$(find "$CACHES" -name '.tmp-*' -o -path '*/claims/*' | wc -l)" 0 "$1: nothing unfinished is left"
}

sweep 4
complete "four caches"
is "$(compiled)" "$n_instances $n_instances" "each instance is compiled once"
is "$(compilers)" 0 "by one rank"
is "$(has 1) $(has 2) $(has 3)" "$n_instances $n_instances $n_instances" "and all have it"
is "$(digests 1) $(digests 3)" "$(digests 0) $(digests 0)" "to the byte"

sweep 4
is "$(wc -l <"$COMPILED")" 0 "the next sweep compiles nothing"

rm -rf "$CACHES/0" "$CACHES/2"
sweep 4
complete "two of them are lost"
is "$(wc -l <"$COMPILED")" 0 "what some have is compiled by nobody"
is "$(has 0) $(has 2)" "$n_instances $n_instances" "and goes to the others"

# --- other compilers are other builds

rm -rf "$CACHES"
OTHER_CC=2 sweep 4
complete "another compiler"
is "$(compilers)" "0 2" "who has it compiles for itself"
is "$(compiled)" "$((2 * n_instances)) $n_instances" "once, too"

# --- whoever dies

forget_but() { # RANK...: only these have anything
    local r
    for r in 0 1 2 3; do [[ " $* " == *" $r "* ]] || rm -rf "${CACHES:?}/$r"; done
}
prepare() { # rank 1 alone has everything
    rm -rf "$CACHES"
    sweep 2
    forget_but 1
}
prepare
KSWEEP_CHAOS=send:2@1 sweep 3
complete "the sender is killed" 1
read -r n n_different < <(compiled)
ok "what nobody has any more is compiled" [ "$n" -gt 0 ]
is "$n" "$n_different" "once"
is "$(has 0) $(has 2)" "$n_instances $n_instances" "and handed out"

prepare
KSWEEP_CHAOS=send:1:stop@1 sweep 3
complete "the sender stands still" 1
is "$(compiled)" "$n_instances $n_instances" "that is compiled once, too"

prepare
cp -r "$CACHES/1" "$CACHES/2"
KSWEEP_CHAOS=send:1@1 sweep 3
complete "one of two senders is killed" 1
is "$(wc -l <"$COMPILED")" 0 "the other hands it out"

prepare
KSWEEP_CHAOS=fetch:1@2 sweep 4
complete "a receiver is killed" 2
is "$(wc -l <"$COMPILED") $(has 3)" "0 $n_instances" "the others get everything"

rm -rf "$CACHES"
OTHER_CC=0 KILLED_BY_CC=1 sweep 3
complete "who compiles is killed" 1
is "$(compilers)" "0 1 2" "another one does it"
is "$(has 2)" "$n_instances" "all of it"

# --- what arrives must be what left

prepare
python3 - "$CACHES/1/ksweep/host" <<'END_OF_DAMAGE'
import glob, json, sys
for path in glob.glob(sys.argv[1] + "/*/manifest.json")[:1]:  # names nothing that is there
    m = json.load(open(path))
    m["compiler"] = "x" * 5000
    json.dump(m, open(path, "w"))
END_OF_DAMAGE
sweep 3
complete "a damaged unit"
is "$(cut -d ' ' -f 2 "$COMPILED" | sort | uniq -d | wc -l)" 0 "is compiled once more, by one rank"
done_testing
