#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep problems: counts that add up, reasons, lists that read back, exit codes.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep python3
data=$KSWEEP_SOURCE_DIR/tests/data/grid
lists=$KSWEEP_SOURCE_DIR/jobs/problems

json() { # KEY: of the JSON in $tap_tmp/out
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
        "$tap_tmp/out" "$1"
}

# The published architectures: convolutions and the fully connected layer as one 1x1 row more.
while read -r name rows uses; do
    rc_is 0 "$name.csv is read" ksweep problems "$lists/$name.csv" --count --json
    is "$(json commands)" "$rows" "$name has $rows rows"
    is "$(json distinct)" "$rows" "$name has no row twice"
    rc_is 0 "$name.csv is listed" ksweep problems "$lists/$name.csv" --list
    is "$(python3 -c 'import csv, sys; print(sum(int(r["count"]) for r in csv.DictReader(open(sys.argv[1]))))' \
        "$tap_tmp/out")" "$uses" "$name uses them $uses times"
done <<'LISTS'
resnet50 24 54
resnext50_32x4d 25 54
mobilenet_v2 31 53
LISTS

rc_is 1 "refused lines make exit 1" ksweep problems "$data/miopen-dirt.txt" --count --json
is "$(json commands)" 29 "29 commands"
is "$(json taken)" 1 "1 taken"
is "$(json refused)" 28 "28 refused"
is "$(json other_lines)" 6 "6 other lines"
is "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
r = d["refusals"]
print(len(r) == d["refused"] and all(x["reason"] and x["file"].endswith("miopen-dirt.txt") for x in r)
      and [x["line"] for x in r] == list(range(1, 29)))' "$tap_tmp/out")" True \
    "every refusal has its file, line and reason"
like "$(cat "$tap_tmp/err")" "miopen-dirt.txt:1: unknown flag '--fil_high', did you mean '--fil_h'" \
    "reasons go to standard error too"

rc_is 0 "several files at once" ksweep problems "$data"/miopen-{short,3d,trans,all}.txt --count --json
is "$(json files)" 4 "4 files"
is "$(json commands)" "$(json taken)" "none refused"

rc_is 0 "export" ksweep problems "$data"/miopen-{short,3d,trans,all}.txt --export "$tap_tmp/all.csv"
ksweep problems "$data"/miopen-{short,3d,trans,all}.txt --list >"$tap_tmp/a" 2>"$tap_tmp/err"
ksweep problems "$tap_tmp/all.csv" --list >"$tap_tmp/b" 2>>"$tap_tmp/err"
ok "what is exported reads back as the same problems" cmp "$tap_tmp/a" "$tap_tmp/b"

# --- what is derived: the first layer of ResNet-50 by hand, 112 x 112 outputs. One output is a sum of
# 3 x 7 x 7 products, one input of 64 x 4 x 4 (every second tap), one weight of 112 x 112. 2 x 147 x
# 64 x 112 x 112 operations; 224 x 224 x 3 + 147 x 64 + 64 x 112 x 112 elements.
head=operator,direction,dtype,layout,c_total,k_total,hi,wi,y,x,stride_h,stride_w,pad_h_lo,pad_w_lo,pad_h_hi,pad_w_hi
conv=nhwgc,3,64,224,224,7,7,2,2,3,3,3,3
printf '%s\n' "$head" "grouped_conv,forward,fp32,$conv" "grouped_conv,bwd_data,fp16,$conv" \
    "grouped_conv,bwd_weight,bf16,$conv" operator,direction,dtype,layout,batch,m,n,k \
    gemm,forward,bf16,nhwgc,2,3,4,5 >"$tap_tmp/hand.csv"
rc_is 0 "what is derived is listed" ksweep problems "$tap_tmp/hand.csv" --list
is "$(cut -d, -f2-7 "$tap_tmp/out")" "class,reduction,flops,min_bytes,operator,direction
stem,147,236027904,3851008,grouped_conv,forward
stem,1024,236027904,1925504,grouped_conv,backward_data
stem,12544,236027904,1925504,grouped_conv,backward_weight
class,reduction,flops,min_bytes,operator,direction
other_operator,5,240,188,gemm,forward" "class, reduction, operations and bytes are those worked out by hand"
rc_is 0 "and as JSON" ksweep problems "$tap_tmp/hand.csv" --list --json
is "$(python3 -c 'import json, sys
for p in json.load(open(sys.argv[1])):
    print(p["class"], p["reduction"], int(p["flops"]), int(p["min_bytes"]))' "$tap_tmp/out")" \
    "stem 147 236027904 3851008
stem 1024 236027904 1925504
stem 12544 236027904 1925504
other_operator 5 240 188" "with the same numbers"

rc_is 2 "an export of nothing" ksweep problems "$data/good.csv" --exclude "$data/good.csv" \
    --export "$tap_tmp/nothing.csv"
like "$(cat "$tap_tmp/err")" "no problem is left, so '.*nothing.csv' is not written" "is an error"
not_ok "and writes no file" test -e "$tap_tmp/nothing.csv"

ln -s target "$tap_tmp/link"
touch "$tap_tmp/target"
rc_is 0 "export through a link" ksweep problems "$data/good.csv" --export "$tap_tmp/link"
ok "the link is still one" test -L "$tap_tmp/link" -a -s "$tap_tmp/target"

ksweep problems "$lists/resnet50.csv" --sample 5 --seed 1 --list >"$tap_tmp/a"
ksweep problems "$lists/resnet50.csv" --sample 5 --seed 1 --list >"$tap_tmp/b"
ksweep problems "$lists/resnet50.csv" --sample 5 --seed 2 --list >"$tap_tmp/c"
is "$(wc -l <"$tap_tmp/a")" 6 "a sample of 5, and the header"
ok "the same seed, the same sample" cmp "$tap_tmp/a" "$tap_tmp/b"
not_ok "another seed, another sample" cmp "$tap_tmp/a" "$tap_tmp/c"

sed 's/hi/hj/' "$lists/resnet50.csv" >"$tap_tmp/bad.csv"
rc_is 2 "an unknown column" ksweep problems "$tap_tmp/bad.csv"
like "$(cat "$tap_tmp/err")" "bad.csv:[0-9]+: column [0-9]+: unknown column 'hj', did you mean" \
    "names file, line, column and the fix"
is "$(wc -l <"$tap_tmp/err")" 1 "in one line"
is "$(wc -c <"$tap_tmp/out")" 0 "and nothing on standard output"
rc_is 2 "an absent file" ksweep problems "$tap_tmp/none.csv"
like "$(cat "$tap_tmp/err")" "none.csv" "is named"
rc_is 2 "no file" ksweep problems
like "$(cat "$tap_tmp/err")" "usage: ksweep problems" "shows the usage"
rc_is 2 "an unknown option" ksweep problems --cuont x.csv
like "$(cat "$tap_tmp/err")" "count" "names the nearest"
rc_is 2 "an unknown importer" ksweep problems "$data/good.csv" --from cvs
like "$(cat "$tap_tmp/err")" "did you mean 'csv'" "names the nearest"
rc_is 2 "two results at once" ksweep problems "$data/good.csv" --list --count
rc_is 0 "help" ksweep problems --help
like "$(cat "$tap_tmp/out")" "\\-\\-from" "lists the options"
if [ -c /dev/full ]; then
    ksweep problems "$lists/resnet50.csv" --list >/dev/full 2>"$tap_tmp/err"
    is $? 3 "a full disk under standard output is noticed"
fi

done_testing
