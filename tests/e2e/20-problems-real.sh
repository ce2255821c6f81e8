#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command lists of 66 networks, log lines as users post them, Composable Kernel's problem sets and
# MIOpen's find-dbs: all read, and the numbers are those that an independent reading of the text gives.
. "$(dirname "$0")/tap.sh"
need_program ksweep python3
need_data miopen/perf_models
models=$KSWEEP_TEST_DATA/miopen/perf_models

rc_is 0 "all lists are read" ksweep problems --from miopen "$models"/*.txt --count --json
is "$(python3 - "$tap_tmp/out" "$models"/*.txt <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
commands, distinct = 0, set()
keys = ["batchsize", "in_channels", "out_channels", "in_h", "in_w", "fil_h", "fil_w", "pad_h", "pad_w",
        "conv_stride_h", "conv_stride_w", "dilation_h", "dilation_w", "group_count", "forw"]
for name in sys.argv[2:]:
    for line in open(name):
        words = line.split()
        if len(words) > 1 and words[1].startswith("conv"):
            flags = dict(zip(words[2::2], words[3::2]))
            commands += 1
            distinct.add((words[1],) + tuple(flags["--" + k] for k in keys))
want = {"commands": commands, "taken": commands, "refused": 0, "distinct": len(distinct), "refusals": []}
for k, v in want.items():
    print(k, d[k], "ok" if d[k] == v else "WANT %s" % v)
PY
)" "commands 4897 ok
taken 4897 ok
refused 0 ok
distinct 2853 ok
refusals [] ok" "as many commands and distinct problems as the text holds"

rc_is 0 "log lines as users post them" ksweep problems \
    "$KSWEEP_TEST_DATA/miopen/miopen_logcmd_samples.log" --count
like "$(cat "$tap_tmp/out")" "refused +0" "none refused"
is "$(awk '$1 == "commands" { print $2 }' "$tap_tmp/out")" \
    "$(grep -c 'MIOpenDriver conv' "$KSWEEP_TEST_DATA/miopen/miopen_logcmd_samples.log")" \
    "every driver line is a command"

# --- Composable Kernel
ck=$KSWEEP_TEST_DATA/ck
lists=$KSWEEP_SOURCE_DIR/jobs/problems
ids() { ksweep problems "$@" --list | sed 1d | cut -d, -f1 | sort; }
json() { # KEY...: of the JSON in $tap_tmp/out
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(*[d.get(k) for k in sys.argv[2:]])' "$tap_tmp/out" "$@"
}
while read -r name distinct; do
    [ -e "$ck/problems_$name.csv" ] || continue
    rc_is 0 "problems_$name.csv is read" ksweep problems "$ck/problems_$name.csv" --json
    is "$(json taken refused distinct)" "$distinct 0 $distinct" "$distinct shapes, all distinct"
    is "$(json lines other_lines)" "$((distinct + 1)) 1" "every line is a shape or the header"
done <<'SETS'
forward_2d 1614
forward_3d 168
bwd_data_2d 1394
bwd_data_3d 168
bwd_weight_2d 2069
SETS
for name in forward_2d forward_3d; do
    [ -e "$ck/problems_$name.csv" ] || continue
    ok "ck_$name.json generates the very set" \
        cmp <(ids "$lists/ck_$name.json") <(ids "$ck/problems_$name.csv")
done
if [ -e "$ck/ck_validation_holdout_first65.csv" ]; then
    rc_is 1 "the hold-out of the forward set" ksweep problems "$lists/ck_forward_2d.json" \
        --leaks "$ck/ck_validation_holdout_first65.csv" --json
    is "$(json validation n_leaks)" "65 65" "lies in the training set, 65 of 65"
    rc_is 1 "the test set of backward data" ksweep problems "$ck/problems_bwd_data_2d.csv" \
        --leaks "$ck/ck_bwd_data_test_validation.csv" --json
    is "$(json validation n_leaks)" "10 10" "lies in the training set, 10 of 10"
    rc_is 0 "rows of results" ksweep problems "$ck/ck_oracle_forward_bf16_gfx950_sample.csv" --json
    is "$(json taken distinct)" "210 7" "are 210 measurements of 7 problems"
    rc_is 2 "predictions" ksweep problems "$ck/ck_ml_predictions_sample.csv"
    like "$(cat "$tap_tmp/err")" "column 'pad_h' is missing" "do not say what they predict for"
fi

# --- find-db
python3 - "$KSWEEP_TEST_DATA/miopen_fdb" "$tap_tmp" <<'PY'
# Unpacks, and writes how many keys no convolution has (its output does not follow from its input),
# and how many are of a type that is not supported.
import bz2, glob, os, re, sys

def is_wrong(key):
    p = key.split("-")
    n = 2 if "x" in p[3] else 3
    sides = [list(map(int, p[1:1 + n])), list(map(int, p[n + 3:2 * n + 3]))]
    if p[-1][0] != "F":
        sides.reverse()
    f, pad, step, hole = (list(map(int, p[i].split("x"))) for i in (n + 1, 2 * n + 4, 2 * n + 5, 2 * n + 6))
    return any((i + 2 * a - h * (k - 1) - 1) // s + 1 != o
               for i, o, k, a, s, h in zip(*sides, f, pad, step, hole))

for path in sorted(glob.glob(sys.argv[1] + "/*.fdb.txt*")):
    text = (bz2.open if path.endswith("bz2") else open)(path, "rt").read()
    name = re.sub(r"\.fdb\.txt.*", "", os.path.basename(path))
    keys = [line.split("=")[0] for line in text.splitlines()]
    with open("%s/%s.txt" % (sys.argv[2], name), "w") as to:
        to.write(text)
    with open("%s/%s.want" % (sys.argv[2], name), "w") as to:
        to.write("%d %d %d\n" % (len(keys), sum(map(is_wrong, keys)), sum("-INT8-" in k for k in keys)))
PY
for want in "$tap_tmp"/gfx*.want; do
    [ -e "$want" ] || continue
    name=$(basename "$want" .want)
    read -r keys wrong other <"$want"
    ksweep problems "$tap_tmp/$name.txt" --json >"$tap_tmp/out" 2>"$tap_tmp/err"
    is $? "$((wrong + other > 0))" "$name is read"
    is "$(json lines commands taken refused distinct)" \
        "$keys $keys $((keys - wrong - other)) $((wrong + other)) $((keys - wrong - other))" \
        "$name: $keys keys, all distinct, $wrong inconsistent ones and $other of other types refused"
    is "$(python3 -c 'import json, sys
print(sum("data type" not in r["reason"] for r in json.load(open(sys.argv[1]))["refusals"]))' "$tap_tmp/out")" \
        "$wrong" "$name: each with its reason"
done
is "$(cat "$tap_tmp/gfx90a68.HIP.want" 2>"/dev/null" || echo "193590 364 48")" "193590 364 48" \
    "gfx90a68 has 364 inconsistent keys"

# PyTorch's convolutions for Composable Kernel: the converter's own configs and command lines, and the
# problems as they are, which read back as the same.
replay=$KSWEEP_TEST_DATA/traces/conv_repros_ir_mi300x_resnet.json
expected=$KSWEEP_TEST_DATA/traces/expected/ck_profiler_configs_resnet
rc_is 0 "the converter's command lines" ksweep problems "$replay" --to ck-profiler --compat code
is "$(cmp "$tap_tmp/out" "$expected.commands.txt" 2>&1)" "" "each as the code has it"
is "$(tr '\n' ' ' <"$tap_tmp/err" | tr -s ' ')" \
    "operations 22 skipped 0 forward 11 data 10 weight 11 configs 32 left out 0 " "a summary"
rc_is 0 "the converter's configs" ksweep problems "$replay" --to ck-config --compat code --quiet
is "$(cat "$tap_tmp/err")" "" "quiet"
is "$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1])) == json.load(open(sys.argv[2])))' "$tap_tmp/out" "$expected.json")" \
    True "each as the code has it"
rc_is 0 "the README's form" ksweep problems "$replay" --to ck-profiler --compat readme
is "$(sed 's,bin/profile_,bin ,; s/\(fwd 1 3\) 0/\1 1/' "$tap_tmp/out" | cmp - "$expected.commands.txt" 2>&1)" \
    "" "differs in program and index type only"
ksweep problems "$replay" --list | tail -n +2 | cut -d, -f1 | sort >"$tap_tmp/ids"
for form in ck-profiler ck-config miopen csv; do
    ksweep problems "$replay" --to "$form" --output "$tap_tmp/list.$form" --quiet
    ksweep problems "$tap_tmp/list.$form" --list | tail -n +2 | cut -d, -f1 | sort >"$tap_tmp/again"
    is "$(cmp "$tap_tmp/ids" "$tap_tmp/again" 2>&1; wc -l <"$tap_tmp/again")" 32 "$form reads back as the same problems"
done
rc_is 2 "nothing is left for a CSV without layouts" ksweep problems "$replay" --to ck-csv
like "$(cat "$tap_tmp/err")" "no problem is left to write: CSV of Composable Kernel has no layout" "which is said"
rc_is 2 "an unknown form" ksweep problems "$replay" --to ck-profile
like "$(cat "$tap_tmp/err")" "did you mean 'ck-profiler'" "with the nearest"

done_testing
