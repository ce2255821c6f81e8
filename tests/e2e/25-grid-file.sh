#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep plan --export-grid: the grids of tests/gpu are those of their jobs; who reads one says what is
# wrong with it.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-gpu
cd "$tap_tmp" || exit 1

# --- what is shipped

mkdir new
ok 'export.sh' "$KSWEEP_SOURCE_DIR/tests/gpu/export.sh" new
for f in "$KSWEEP_SOURCE_DIR"/tests/gpu/*.grid; do
    ok "${f##*/} is what its job says (else run tests/gpu/export.sh)" cmp "$f" "new/${f##*/}"
done
is "$(cd new && ls | paste -sd ' ')" "$(cd "$KSWEEP_SOURCE_DIR/tests/gpu" && ls -- *.grid | paste -sd ' ')" 'and no other'
unlike "$(cat new/*.grid)" '^family .* /' 'their sources are relative to kernels/'

# Without wgmma nothing reaches the peak of sm_90.
counts() { # JOB: instances of a problem that sm_90 can run, and all instances
    ksweep plan "$KSWEEP_SOURCE_DIR/tests/gpu/$1.json" --backend cuda --arch sm_90 --list >plan.txt
    awk '/^order/ { on = 1; next } on && NF { print $NF }' plan.txt | sort -u | paste -sd ' '
    grep -c '^instance ' "new/$1.grid"
}
is "$(counts sweep | paste -sd ' ')" '42 70' 'sweep: 42 instances run on sm_90'
is "$(counts gemm | paste -sd ' ')" '46 54' 'gemm: 23 for each of rcr and rrr, which leave the other problems alone'
wgmma() { ksweep kernels "$KSWEEP_SOURCE_DIR/tests/gpu/$1.json" --arch sm_90 | grep -oE '[0-9x]+_comp_async(_ws)?_[a-z]+_wgmma[^ ]*' | sort -u; }
is "$(wgmma kernels | wc -l)" 22 'twenty-two of wgmma are accepted by the rules of their family'
for form in 128x128x64_comp_async_interwave 128x256x64_comp_async_interwave 256x128x64 128x256x64_comp_async_ws 128x64x64_comp_async_ws 64x128x64 128x64x64 'wm2_pf3' 'wm2_pf4' 'wm2_pf6'; do
    like "$(wgmma kernels)" "$form" "among them $form"
done

# --- what is not written

ok 'a job' cp "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" .
sed -i "s|../../kernels|$KSWEEP_SOURCE_DIR/kernels|" tiny.json
ok 'a grid of the host' ksweep plan tiny.json --export-grid tiny.grid
is "$(cat out)" '' 'nothing is printed'
ok 'to standard output' sh -c 'ksweep plan tiny.json --export-grid /dev/stdout >told'
ok 'the same' cmp told tiny.grid
sed 's|"filter"|"plugin": "plug.so", "filter"|' tiny.json >plug.json
touch plug.so
rc_is 2 'kernels of a plug-in' ksweep plan plug.json --export-grid plug.grid
like "$(cat err)" "plug.so' cannot be exported" 'are refused'
not_ok 'and no file is left' test -e plug.grid

# --- who reads it

refused() { # WHAT PATTERN SED-SCRIPT
    sed "$3" new/conformance.grid >bad.grid
    rc_is 2 "$1" ksweep-gpu conformance bad.grid --cache "$tap_tmp/cache"
    like "$(cat err)" "bad.grid$2" "$1: is told"
}
refused 'another version' ': version 2 of ksweep-grid; this program reads 1' '1s/1/2/'
refused 'a changed number' ': changed after it was written' 's/^set measure.max_ms .*/set measure.max_ms 7/'
refused 'a cut file' ': cut off' '$d'
refused 'no grid' ": the first line must begin with 'ksweep-grid'" '1s/.*/{}/'
done_testing
