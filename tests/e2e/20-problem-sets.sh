#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep problems: generators, lists of several operators, samples by class, what is left out, leaks.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep python3
lists=$KSWEEP_SOURCE_DIR/jobs/problems
set2d=$lists/ck_forward_2d.json

json() { # KEY...: of the JSON in $tap_tmp/out
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(*[d.get(k) for k in sys.argv[2:]])' "$tap_tmp/out" "$@"
}
classes() { # of the JSON in $tap_tmp/out
    python3 -c 'import json, sys
print(*["%s %d" % x for x in json.load(open(sys.argv[1]))["classes"].items()], sep=", ")' "$tap_tmp/out"
}
ids() { ksweep problems "$@" --list | sed 1d | cut -d, -f1 | sort; }

rc_is 0 "the 2-D set of Composable Kernel" ksweep problems "$set2d" --json
is "$(json commands taken refused problems distinct kept)" "1718 1718 0 1718 1614 1614" \
    "1,718 combinations, 1,614 distinct"
is "$(classes)" "depthwise 48, grouped 288, dilated 180, strided 72, 1x1 498, 3x3 528" "its classes"
rc_is 0 "the 3-D set" ksweep problems "$lists/ck_forward_3d.json" --json
is "$(json commands taken refused problems distinct kept)" "168 168 0 168 168 168" "168, all distinct"
rc_is 0 "both" ksweep problems "$set2d" "$lists/ck_forward_3d.json" --json
is "$(json files distinct)" "2 1782" "have nothing in common"

# --- samples by class
rc_is 0 "a stratified sample" ksweep problems "$set2d" --sample 20 --seed 1 --stratified --json
is "$(json distinct kept)" "1614 20" "has the wanted size"
is "$(classes)" "depthwise 1, grouped 4, dilated 2, strided 1, 1x1 6, 3x3 6" \
    "every class is there, in proportion"
ksweep problems "$set2d" --sample 20 --seed 1 --stratified --list >"$tap_tmp/a"
ksweep problems "$set2d" --sample 20 --seed 1 --stratified --list >"$tap_tmp/b"
ksweep problems "$set2d" --sample 20 --seed 2 --stratified --list >"$tap_tmp/c"
ok "the same seed, the same sample" cmp "$tap_tmp/a" "$tap_tmp/b"
not_ok "another seed, another sample" cmp "$tap_tmp/a" "$tap_tmp/c"
rc_is 2 "too few for all classes" ksweep problems "$set2d" --sample 5 --stratified
like "$(cat "$tap_tmp/err")" "sample of 5 cannot hold one of each of the 6 shape classes" "is said"
rc_is 2 "stratified without a sample" ksweep problems "$set2d" --stratified

# --- what is left out, and leaks
ksweep problems "$set2d" --sample 30 --seed 3 --export "$tap_tmp/held.csv"
ksweep problems "$lists/ck_forward_3d.json" --sample 10 --seed 3 --export "$tap_tmp/held3d.csv"
rc_is 1 "a held-out set that was trained on" ksweep problems "$set2d" --leaks "$tap_tmp/held.csv"
is "$(grep -c '^leak ' "$tap_tmp/out")" 30 "every shape is a leak"
is "$(sed -n 's/^leaks  *//p' "$tap_tmp/out")" 30 "and counted"
python3 - "$tap_tmp/out" "$tap_tmp/held.csv" "$set2d" >"$tap_tmp/wrong" <<'PY'
# Both places are right: line n + 2 of the list, and the line of a set in the generator.
import sys
leaks = [line.split()[1:] for line in open(sys.argv[1]) if line.startswith("leak ")]
sets = [i + 1 for i, line in enumerate(open(sys.argv[3])) if '"name"' in line]
for n, (_, training, held) in enumerate(leaks):
    if held != "%s:%d" % (sys.argv[2], n + 2):
        print("held", held, n)
    if training.rsplit(":", 1)[0] != sys.argv[3] or int(training.rsplit(":", 1)[1]) not in sets:
        print("training", training)
PY
is "$(cat "$tap_tmp/wrong")" "" "with both places"
rc_is 1 "the same as JSON" ksweep problems "$set2d" --leaks "$tap_tmp/held.csv" --json
is "$(json training validation n_leaks n_same_shape)" "1614 30 30 0" "counts"
is "$(python3 -c 'import json, sys
print(" ".join(sorted(x["id"] for x in json.load(open(sys.argv[1]))["leaks"])))' "$tap_tmp/out")" \
    "$(ids "$tap_tmp/held.csv" | tr '\n' ' ' | sed 's/ $//')" "ids"
rc_is 0 "no leak" ksweep problems "$set2d" --leaks "$tap_tmp/held3d.csv"
is "$(sed -n 's/^leaks  *//p' "$tap_tmp/out")" 0 "is said, too"
is "$(sed -n 's/^same shape  *//p' "$tap_tmp/out")" 0 "and that no shape is the same"
sed 's/,forward,bf16,nhwgc,/,backward_data,fp16,ngchw,/' "$tap_tmp/held.csv" >"$tap_tmp/forms.csv"
rc_is 0 "the held-out shapes in another direction, dtype and layout" ksweep problems "$set2d" \
    --leaks "$tap_tmp/forms.csv" --json
is "$(json validation n_leaks n_same_shape)" "30 0 30" "are no leaks, but it is said that shapes are the same"

rc_is 0 "lists are left out" ksweep problems "$set2d" "$lists/ck_forward_3d.json" \
    --exclude "$tap_tmp/held.csv" --exclude="$tap_tmp/held3d.csv" --json
is "$(json distinct excluded kept)" "1782 40 1742" "and it is said how many problems that were"
rc_is 0 "then there is no leak" ksweep problems "$set2d" --exclude "$tap_tmp/held.csv" \
    --leaks "$tap_tmp/held.csv"
is "$(ids "$set2d" --exclude "$tap_tmp/held.csv" | sort -u - <(ids "$tap_tmp/held.csv") | wc -l)" 1614 \
    "what is left and what was left out are the whole"
rc_is 0 "a sample of what is left" ksweep problems "$set2d" --exclude "$tap_tmp/held.csv" --sample 1600 \
    --json
is "$(json excluded kept)" "30 1584" "leaving out comes first"
rc_is 2 "--exclude without a file" ksweep problems "$set2d" --exclude
rc_is 2 "an absent list to leave out" ksweep problems "$set2d" --exclude "$tap_tmp/none.csv"
rc_is 2 "two results at once" ksweep problems "$set2d" --leaks "$tap_tmp/held.csv" --list
printf 'operator,direction,dtype,layout,c_total,k_total,di,hi,wi,z,y,x\n%s\n' \
    grouped_conv,forward,bf16,nhwgc,64,64,1,8,8,1,1,nan >"$tap_tmp/dirty.csv"
rc_is 1 "a line of the validation set that cannot be read" ksweep problems "$set2d" \
    --leaks "$tap_tmp/dirty.csv"
like "$(cat "$tap_tmp/err")" "dirty.csv:2: .*'nan' is not a whole number" "is reported"

# --- the same in a job
cat >"$tap_tmp/job.json" <<JSON
{ "name": "j", "operator": "grouped_conv", "device": { "backend": "sim" },
  "kernels": [{ "config": "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward.json" }],
  "problems": [{ "file": "$set2d", "exclude": ["held.csv", "held3d.csv"], "sample": 20, "seed": 1,
                 "stratified": true, "dtype": "fp32" }] }
JSON
rc_is 0 "a job with a stratified sample of what is left" ksweep plan "$tap_tmp/job.json" --list
like "$(cat "$tap_tmp/out")" "^20 problems x" "plans as many problems"
like "$(cat "$tap_tmp/out")" "^30 problems of the lists are left out" "and says how many are left out"
is "$(grep -c ' depthwise ' "$tap_tmp/out")" 1 "every class is there"
sed 's/,forward,bf16,nhwgc,/,forward,bf16,ngchw,/' "$tap_tmp/held.csv" >"$tap_tmp/held-ngchw.csv"
sed 's/"held.csv", "held3d.csv"/"held-ngchw.csv"/; s/, "dtype": "fp32"//; s/host_forward/host_forward_bf16/' \
    "$tap_tmp/job.json" >"$tap_tmp/none.json"
rc_is 0 "a job that leaves out a list of another layout" ksweep plan "$tap_tmp/none.json"
like "$(cat "$tap_tmp/out")" "^0 problems of the lists are left out" "is told that it leaves out nothing"
sed 's/"sample": 20/"sample": 0/' "$tap_tmp/job.json" >"$tap_tmp/bad.json"
rc_is 2 "stratified without a sample in a job" ksweep plan "$tap_tmp/bad.json"
like "$(cat "$tap_tmp/err")" "stratified needs \"sample\"" "is an error"

# --- several operators, and dirt that a spreadsheet adds
printf '\xef\xbb\xbfoperator,direction,dtype,layout,c_total,k_total,di,hi,wi,z,y,x,n\r\n%s\r\n%s\r\n%s\r\n%s\r\n' \
    'grouped_conv,forward,bf16,nhwgc,64,64,1,8,8,1,1,1,1' \
    'grouped_conv,"forward", bf16 ,nhwgc,64,64,1,8,8,1,1,1,2' \
    'operator,direction,dtype,layout,batch,m,n,k,trans_a,trans_b' \
    'gemm,forward,fp32,nhwgc,1,8,16,32,0,1' >"$tap_tmp/mixed.csv"
rc_is 0 "two operators in one list, CR LF, BOM, quotes" ksweep problems "$tap_tmp/mixed.csv" --json
is "$(json lines other_lines taken distinct)" "5 2 3 3" "all rows are read"
rc_is 0 "its export" ksweep problems "$tap_tmp/mixed.csv" --export "$tap_tmp/again.csv"
is "$(ids "$tap_tmp/again.csv")" "$(ids "$tap_tmp/mixed.csv")" "reads back"
sed 3d "$tap_tmp/mixed.csv" | sed 's/^operator,direction,dtype,layout,batch.*$/#\r/' >"$tap_tmp/one.csv"
rc_is 1 "a gemm below the header of convolutions" ksweep problems "$tap_tmp/one.csv"
like "$(cat "$tap_tmp/err")" "one.csv:4: .*'gemm' is not grouped_conv, the operator below the header in line 1" \
    "is refused"

# --- mistakes in a generator
sed 's/"hi": \[8, 16\]/"hj": [8, 16]/' "$set2d" >"$tap_tmp/bad.json"
rc_is 2 "a slip in a generator" ksweep problems "$tap_tmp/bad.json"
like "$(cat "$tap_tmp/err")" "set 'small images': .*bad.json:[0-9]+: let.wi: .*unknown name 'hi', did you mean 'hj'" \
    "names set, line and the nearest name"
sed 's/"c_total \* 1"/x/; s/"g \* per_group"/"g * per_group + 1"/' "$set2d" >"$tap_tmp/odd.json"
rc_is 1 "combinations that are no problems" ksweep problems "$tap_tmp/odd.json" --json
is "$(json commands taken refused)" "1718 1430 288" "are refused one by one"
like "$(cat "$tap_tmp/err")" "odd.json:[0-9]+: set 'grouped', g=2 .*is not divisible by g = 2" \
    "with the set and the reason"

done_testing
