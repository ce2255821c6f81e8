#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The hot loops of a few GPU kernels, counted in their machine code: none has grown beyond the figures in
# docs/measured/bench-code.txt, none spills. No GPU is needed.
# group: clang19
. "$(dirname "$0")/tap.sh"
need_program python3 cc clang-19 bench_units
unset KSWEEP_CC
export XDG_CACHE_HOME=$tap_tmp/xdg KSWEEP_HIPCC=clang-19
bench=$KSWEEP_SOURCE_DIR/tests/bench
kept=$KSWEEP_SOURCE_DIR/docs/measured/bench-code.txt
few=$tap_tmp/few.txt

count() { python3 "$bench/machine_code.py" "$@"; }

ok "kernels are compiled and counted" count measure "$KSWEEP_BIN/bench_units" "$bench/data/code_few.json" "$few"
like "$(cat "$few")" "^gfx942 grouped_conv_forward_bf16_2d_128x128x32_compv3" "those of gfx942"
grep '^# .*: left out' "$few" | sed 's/^# /# not counted: /'
is "$(grep -c '^gfx942' "$few")" 3 "all of them"
# The figures of another version of the compiler are compared within wider limits.
rc_is 0 "none has grown" count compare "$kept" "$few"
like "$(tail -n 1 "$tap_tmp/out")" "^[3-9] kernels compared" "those of gfx942 at least"
tap_note "$(grep '^another compiler' "$tap_tmp/out" || echo "the kept figures are of this compiler")"

# What follows is the same whatever compiler there is: what was counted now, with a change.
now_but() { # COLUMN WHAT COMPILER: its figures in now.txt
    awk -v column="$1" -v compiler="$3" '/^# gfx942: / && compiler != "" { $0 = "# gfx942: " compiler }
        $1 == "#" && $2 == "arch" { for (i = 2; i <= NF; i++) if ($i == column) at = i - 1 }
        $1 == "gfx942" { '"$2"' } { print }' "$few" >"$tap_tmp/now.txt"
}
while IFS='|' read -r status column change compiler says; do
    now_but "$column" "$change" "$compiler"
    rc_is "$status" "$column, $change, ${compiler:-the same compiler}" count compare "$few" "$tap_tmp/now.txt"
    like "$(cat "$tap_tmp/out")" "$says" "says so"
done <<'ROWS'
0|instr|$at *= 1.01||0 figures have grown
1|instr|$at *= 1.1||grown: gfx942 .*: instr
1|scratch|$at = 16||grown: gfx942 .*: scratch 0 -> 16
1|branch|$at += 1||grown: gfx942 .*: branch
0|branch|$at += 1|clang 19.9|another compiler, wider limits: gfx942: clang 19.9; kept: .*clang
0|instr|$at *= 1.1|clang 19.9|0 figures have grown
1|instr|$at *= 1.5|clang 19.9|grown: gfx942 .*: instr
1|scratch|$at = 16|clang 19.9|grown: gfx942 .*: scratch 0 -> 16
1|spills|$at = 1|clang 19.9|grown: gfx942 .*: spills 0 -> 1
1|mma|$at *= 2|clang 19.9|grown: gfx942 .*: mma
ROWS
done_testing
