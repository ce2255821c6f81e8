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
# Figures that are kept, with one of them changed: COLUMN (as in the table's head), what awk makes of it.
kept_but() {
    awk -v column="$1" '$1 == "#" && $2 == "arch" { for (i = 2; i <= NF; i++) if ($i == column) at = i - 1 }
        $1 == "gfx942" { '"$2"' } { print }' "$kept" >"$tap_tmp/kept.txt"
}

ok "kernels are compiled and counted" count measure "$KSWEEP_BIN/bench_units" "$bench/data/code_few.json" "$few"
like "$(cat "$few")" "^gfx942 grouped_conv_forward_bf16_2d_128x128x32_compv3" "those of gfx942"
grep '^# .*: left out' "$few" | sed 's/^# /# not counted: /'
is "$(grep -c '^gfx942' "$few")" 3 "all of them"
told() { grep '^# gfx942: ' "$1"; }
if [ "$(told "$few")" = "$(told "$kept")" ]; then
    rc_is 0 "none has grown" count compare "$kept" "$few"
    like "$(cat "$tap_tmp/out")" "^[3-9] kernels compared" "those of gfx942 at least"
else # what follows still sees whether growth would be found
    echo "ok $((++tap_n)) - none has grown # SKIP kept figures are of another compiler than$(told "$few" | cut -d: -f2)"
    kept=$few
fi

kept_but instr '$at *= 0.9'
rc_is 1 "a loop that was shorter" count compare "$tap_tmp/kept.txt" "$few"
like "$(cat "$tap_tmp/out")" "^grown: gfx942 .*: instr" "has grown"
awk '$1 == "gfx942" { $(NF - 2) = 16 } { print }' "$few" >"$tap_tmp/spills.txt"
rc_is 1 "a kernel that begins to use scratch memory" count compare "$kept" "$tap_tmp/spills.txt"
like "$(cat "$tap_tmp/out")" "^grown: gfx942 .*: scratch 0 -> 16" "has grown, too"
sed 's/^# gfx942: .*/# gfx942: another compiler/' "$few" >"$tap_tmp/other.txt"
count compare "$kept" "$tap_tmp/other.txt" >"$tap_tmp/out" 2>&1
like "$(cat "$tap_tmp/out")" "^not compared: gfx942: another compiler" "figures of another compiler are not compared"
done_testing
