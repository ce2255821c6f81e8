#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep kernels on configs of Composable Kernel: the published names, what an arch cannot run.
. "$(dirname "$0")/tap.sh"
need_program ksweep
data=$KSWEEP_SOURCE_DIR/tests/data

rc_is 0 "its forward config is listed" ksweep kernels "$data/ck_forward_2d.json" --list
LC_ALL=C sort "$tap_tmp/out" >"$tap_tmp/names"
is "$(wc -l <"$tap_tmp/names")" 1216 "1,216 names"
is "$(sha256sum <"$tap_tmp/names" | cut -d' ' -f1)" \
    df55ffc5afd6e14cb1c49a326ce8961a82e1dd44ddc46c5bb8fc59d3845f032c "the published ones"
rc_is 0 "with ids and reasons" ksweep kernels "$data/ck_forward_2d.json"
is "$(awk '{ print $2 }' "$tap_tmp/out" | LC_ALL=C sort | cmp - "$tap_tmp/names" && echo same)" same \
    "the same names"
is "$(awk '{ print $1 }' "$tap_tmp/out" | sort | uniq -d)" "" "no id twice"
is "$(grep -c '# ' "$tap_tmp/out")" 1216 "each says why it cannot run here"

published=$KSWEEP_TEST_DATA/ck/ck_kernel_names_forward_2d_expanded.txt
if [ -e "$published" ]; then
    LC_ALL=C sort "$published" >"$tap_tmp/published"
    is "$(cmp "$tap_tmp/names" "$tap_tmp/published" && echo same)" same "name by name"
fi

rc_is 0 "another arch" ksweep kernels "$data/ck_forward_2d.json" --arch gfx942
is "$(grep -c '# gfx942 does not support blocks of so many waves' "$tap_tmp/out")" 224 \
    "what gfx942 cannot run is kept, with its reason"
rc_is 0 "a filter with its own names" ksweep kernels "$data/ck_forward_2d.json" \
    --filter "c.tile_m == 16 and c.pipeline == 'compv4' and c.num_groups_to_merge == 2" --list
is "$(wc -l <"$tap_tmp/out")" 16 "keeps what it says"
for c in "$data"/ck/*.json; do
    rc_is 0 "${c##*/} is read" ksweep kernels "$c" --count
done
rc_is 0 'a large export' ksweep kernels "$data/ck/gemm_streamk_tile_engine/configs/range.json" --export /dev/null
like "$(cat "$tap_tmp/err")" "'/dev/null' has [0-9]+ MiB, but ksweep reads at most 64 MiB" 'is no config, it says'

printf '{ "variant": "forward",\n  "trait_config": { "wave_mode": {"values": ["intrawave"]} } }\n' \
    >"$tap_tmp/bad.json"
rc_is 2 "a key that nothing reads" ksweep kernels "$tap_tmp/bad.json"
like "$(cat "$tap_tmp/err")" "bad.json:2: trait_config.wave_mode" "is named with file, line and key"

done_testing
