#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A plug-in's kernels are measured like others.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1

plugin() { # TEXT: builds what plug.so points to, which differs by it
    cc -O2 -fPIC -shared -DPLUGIN_EXTRA="\"$1\"" -I"$KSWEEP_SOURCE_DIR" -o plug.so.1 \
        "$KSWEEP_SOURCE_DIR/tests/fake/plugin.c"
}
ln -s plug.so.1 plug.so
cat >plug.family.json <<'EOF'
{ "name": "plug", "operator": "grouped_conv", "direction": "forward", "dtype": "fp32",
  "layout": "nhwgc", "backend": "host", "name_pattern": "plug_{what}",
  "traits": [ { "name": "what", "kind": "name", "default": "plain", "help": "how it behaves",
                "values": { "plain": 0, "twin": 1, "wrong": 2, "dying": 3, "absent": 4 } } ] }
EOF
echo '{ "family": "plug.family.json", "instances": [ { "what": ["plain", "twin", "wrong", "dying", "absent"] } ] }' \
    >plug.json
job() { # NAME KERNELS...
    cat >"$1.json" <<EOF
{ "name": "$1", "operator": "grouped_conv", "kernels": [ $2 ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv"} ],
  "measure": {"warmup_ms": 0, "min_samples": 3, "max_ms": 5,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}} }
EOF
}
row() { # DIR INSTANCE: its outcomes, sorted
    ksweep-analyze table "$1/results.h5" -o table.csv 2>/dev/null
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["instance_name"] == name { print $at["outcome"] }' table.csv | sort | uniq -c | awk '{ print $1, $2 }' |
        paste -sd ' '
}

# --- beside compiled kernels, on two ranks

plugin one
job mixed "{\"config\": \"plug.json\", \"plugin\": \"plug.so\"},
           {\"config\": \"$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json\", \"filter\": \"vector_bytes <= 16\"}"
ranks 2 ksweep run mixed.json --out run --cache "$tiny_cache" >run.out 2>run.err
is "$(exit_of run)" 1 'a sweep with two plain, a wrong, a dying and an absent kernel is complete'
is "$(field run cells) $(outcomes run) $(field run pending)" '18 18 0' 'outcomes add up to the grid'
is "$(row run plug_plain)" '2 ok 1 unsupported' 'what it can run is ok, what it refuses is unsupported'
is "$(row run plug_twin)" '2 ok 1 unsupported' 'the same function under another name is no alias'
is "$(row run plug_wrong)" '1 unsupported 2 wrong_result' 'a wrong one is found out'
is "$(row run plug_dying)" '2 crashed 1 unsupported' 'a dying one costs its own cells'
is "$(row run plug_absent)" '3 load_failed' 'a name that the table lacks cannot be loaded'

# --- another file

plugin two
rc_is 2 'a plug-in that was built anew is a changed build' \
    ksweep run mixed.json --out run --cache "$tiny_cache" --resume --retry crashed
like "$(cat err)" 'accept-rebuild' 'the message has the way out'
ok 'which is taken' sh -c "ksweep run mixed.json --out run --cache '$tiny_cache' --resume --accept-rebuild; [ \$? -le 1 ]"

# --- no file, no such key

job lost '{"config": "plug.json", "plugin": "gone.so"}'
rc_is 2 'a plug-in that is not there' ksweep run lost.json --out lost
like "$(cat err)" 'lost\.json:[0-9]+.*gone\.so' 'the message names file, line and plug-in'
not_ok 'and nothing was made' test -e lost
job none '{"config": "plug.json"}'
rc_is 1 'without a plug-in nothing can run' ksweep plan none.json --cache "$tiny_cache"
like "$(cat out)" '15 cannot run' 'a family without kernels cannot be run'

done_testing
