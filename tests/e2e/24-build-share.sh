#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many builders, one cache: nothing is compiled twice, nobody waits for the dead, and whatever is
# killed at whatever moment, the next build goes on where it stopped.
# waits: yes
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program ksweep python3 cc mpirun
export XDG_CACHE_HOME=$tap_tmp/xdg TMPDIR=$tap_tmp/tmp
mkdir "$TMPDIR" "$tap_tmp/k"
cache=$XDG_CACHE_HOME/ksweep/host
launch=(mpirun --oversubscribe --bind-to none --enable-recovery)
[ "$(id -u)" -eq 0 ] && launch+=(--allow-run-as-root)

cp "$KSWEEP_SOURCE_DIR"/tests/fake/unit.{k,h,family.json} "$tap_tmp/k"
head -n 2 "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" >"$tap_tmp/k/one.csv"
python3 - "$tap_tmp/k" <<'END'
import json, sys
json.dump({"family": "unit.family.json", "instances": [{"index": list(range(40))}]},
          open(sys.argv[1] + "/config.json", "w"))
json.dump({"name": "many", "operator": "grouped_conv", "kernels": [{"config": "config.json"}],
           "problems": [{"file": "one.csv"}], "device": {"backend": "host"},
           "measure": {"warmup_ms": 0, "min_samples": 3, "max_samples": 3, "max_ms": 10},
           "verify": {"exact": False, "elementwise": False}},
          open(sys.argv[1] + "/many.json", "w"))
END
job=$tap_tmp/k/many.json

# A compiler that keeps a list of what it compiled, takes its time and stays killable.
cat >"$tap_tmp/slow-cc" <<'END'
#!/bin/sh
if [ -f unit.c ] && [ ! -f unit.o ]; then
    sed -n 's/^#define KS_NAME "\(.*\)"/\1/p' unit.c >"$COMPILED.$$" && cat "$COMPILED.$$" >>"$COMPILED"
    rm "$COMPILED.$$"
    sleep "0.$(($$ % 3 + 1))"
fi
exec cc "$@"
END
chmod +x "$tap_tmp/slow-cc"
export KSWEEP_CC=$tap_tmp/slow-cc COMPILED=$tap_tmp/compiled

field() { # NAME: of the summary in $tap_tmp/out
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tap_tmp/out" "$1"
}
forget() {
    rm -rf "$XDG_CACHE_HOME" "$COMPILED"
}
leftovers() { # what an unfinished build leaves in the cache
    find "$cache" -name '.tmp-*' -o -path '*/claims/*' -o -path '*/builders/*' | sort
}
sound() { # every published unit is whole: its object has the digest of its manifest; prints how many
    python3 - "$cache" <<'END'
import glob, hashlib, sys
paths = [p for p in glob.glob(sys.argv[1] + "/*/manifest.txt") if "/.tmp-" not in p]
for path in paths:
    m = dict(line.rstrip("\n").split(" ", 1) for line in open(path))
    data = open(path.replace("manifest.txt", "kernels.so"), "rb").read()
    if hashlib.sha256(data).hexdigest() != m["digest"] or len(data) != int(m["object_bytes"]):
        sys.exit("%s is not whole" % path)
print(len(paths))
END
}

rc_is 0 "four ranks build" "${launch[@]}" -n 4 ksweep build "$job" --json -j 1 \
    --manifest "$tap_tmp/m.json"
is "$(field built) $(field missing)" "40 0" "all of it, and one of them speaks"
is "$(sort "$COMPILED" | wc -l) $(sort -u "$COMPILED" | wc -l)" "40 40" "nothing twice"
is "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["instances"]))' \
    "$tap_tmp/m.json")" 40 "one manifest of all"
is "$(leftovers)" "" "nothing unfinished is left"

# --- a rank dies in the middle of its work

forget
"${launch[@]}" -n 3 sh -c 'echo $$ >"$0/rank.$OMPI_COMM_WORLD_RANK"; exec ksweep build "$1" -j 1' \
    "$tap_tmp" "$job" >"$tap_tmp/said" 2>&1 &
mpi=$!
for ((i = 0; i < 100; i++)); do
    [ "$(wc -l 2>/dev/null <"$COMPILED")" -ge 20 ] 2>/dev/null && break
    sleep 0.1
done
kill -9 "$(cat "$tap_tmp/rank.2")"
wait $mpi
like "$(cat "$tap_tmp/said")" "built +40" "a rank is killed, the others build all"
rc_is 0 "afterwards" ksweep build "$job" --json
is "$(field compiler_runs) $(field cached)" "0 40" "nothing is missing"
is "$(leftovers)" "" "what it left is swept"

# --- killed at random moments, until it is done

kill_some() { # PID...: the first or all of them
    [ $((RANDOM % 3)) -eq 0 ] && set -- "$1"
    kill -9 "$@" 2>/dev/null
}
RANDOM=${KSWEEP_TEST_SEED:-1}
forget
n_broken=0 n_full=0
for ((round = 0; round < 12; round++)); do
    ksweep build "$job" -j 1 >"$tap_tmp/said.1" 2>&1 &
    one=$!
    ksweep build "$job" -j 1 >"$tap_tmp/said.2" 2>&1 &
    two=$!
    sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
    if [ $((RANDOM % 2)) -eq 0 ]; then kill_some $one $two; else kill_some $two $one; fi
    wait $one 2>/dev/null
    wait $two 2>/dev/null && n_full=$((n_full + 1))
    sound >"$tap_tmp/n_units" || n_broken=$((n_broken + 1))
    # What was built stays built, but not for so long that all is built in the first rounds.
    [ $((round % 6)) -eq 5 ] && rm -rf "$cache"
done 2>/dev/null
is "$n_broken" 0 "12 kills leave no unit half published"
rc_is 0 "the next build goes on" ksweep build "$job" --json
is "$(field missing) $(field failed)" "0 0" "and completes it"
is "$(leftovers)" "" "nothing unfinished is left"
is "$(find "$TMPDIR" -maxdepth 1 -name 'cc*' | wc -l)" 0 "compilers' temporaries go with them"

# --- mpirun dies: its ranks go on, and whoever comes next shares with them

forget
"${launch[@]}" -n 2 ksweep build "$job" -j 1 >"$tap_tmp/said" 2>&1 &
mpi=$!
for ((i = 0; i < 100; i++)); do
    [ "$(wc -l 2>/dev/null <"$COMPILED")" -ge 15 ] 2>/dev/null && break
    sleep 0.1
done
kill -9 $mpi
wait $mpi 2>/dev/null
rc_is 0 "mpirun is killed, the next build goes on" ksweep build "$job" --json -j 2
is "$(field missing) $(field failed)" "0 0" "and completes it"
for ((i = 0; i < 100; i++)); do
    [ -z "$(leftovers)" ] && break
    ksweep build "$job" >/dev/null 2>&1
    sleep 0.1
done
is "$(leftovers)" "" "nothing unfinished is left"
like "$(sound 2>&1)" '^[1-9][0-9]*$' "every unit is whole"

# --- the sweep itself

if [ -x "$(command -v ksweep-worker)" ]; then
    forget
    rc_is 0 "two ranks that measure" "${launch[@]}" -n 2 ksweep run "$job" --out "$tap_tmp/run"
    is "$(sort "$COMPILED" | uniq -d | wc -l)" 0 "compile nothing twice"
    is "$(leftovers)" "" "and leave nothing unfinished"
fi
done_testing
