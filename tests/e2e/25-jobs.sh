#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shipped jobs: each says why, plans without a word on stderr, and is what docs/jobs.md says.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep
page=$KSWEEP_SOURCE_DIR/docs/jobs.md

for job in "$KSWEEP_SOURCE_DIR"/jobs/*.json; do
    name=$(basename "$job" .json)
    arch=()
    case $name in gpu_*) arch=(--arch gfx942) ;; esac # native: asked of a GPU
    rc_is 0 "$name: plan" ksweep plan "$job" "${arch[@]}"
    is "$(cat "$tap_tmp/err")" "" "$name: nothing to complain of"
    like "$(head -n 1 "$tap_tmp/out")" "^$name: .{30,}" "$name: says why it exists"
    size=$(sed -nE 's/^([0-9]+) problems x ([0-9]+) instances( =|,) ([0-9]+) .*cells;.*/\1 | \2 | \4/p' \
        "$tap_tmp/out")
    like "$(grep -F "\`jobs/$name.json\`" "$page")" "\| $(sed 's/|/\\|/g' <<<"$size") \|" \
        "$name: the page has its size, $size"
    [ ${#arch[@]} -gt 0 ] || [ "$name" = fake_hip ] && continue
    ok "$name: plan for a CPU with AVX2" ksweep plan "$job" --arch x86-64-v3 --list
    like "$(cat "$tap_tmp/out")" '[0-9] cannot run on x86-64-v3' "$name: not for this host"
    least=$(awk 'is_row { print $NF } /^order /{ is_row = 1 }' "$tap_tmp/out" | sort -n | head -n 1)
    ok "$name: there each problem has three instances or more, at least $least" test "$least" -ge 3
done

done_testing
