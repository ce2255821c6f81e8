#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An installed ksweep finds its worker, its kernels and its problem lists beside itself. The worker
# alone, without the libraries of the others: 84-gpu-bare-cmake.sh.
. "$(dirname "$0")/tap.sh"
need_program cmake cc
build=$KSWEEP_BIN/..
[ -f "$build/CMakeCache.txt" ] || skip_all "the programs do not stand in a build tree"
cd "$tap_tmp" || exit 1

if grep -q '^KSWEEP_TESTS:BOOL=OFF$' "$build/CMakeCache.txt" && command -v ninja >"$tap_tmp/ninja"; then
    unlike "$(ninja -C "$build" -t inputs all)" '(test|fuzz)_[a-z_]*\.dir|make_journal' 'cmake --build builds programs only'
    like "$(ninja -C "$build" -t inputs tests)" 'test_journal\.dir' 'and the target `tests` the tests'
fi
ok 'cmake --install' cmake --install "$build" --prefix "$tap_tmp/there"
for p in ksweep ksweep-worker ksweep-analyze; do
    ok "bin/$p is there" test -x "there/bin/$p"
done

mkdir mine
cp "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" mine
sed 's|../../kernels|../kernels|' "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" >mine/tiny.json
ok 'it runs a job from anywhere' there/bin/ksweep run mine/tiny.json --out run --cache cache
like "$(cat run/job.json)" "\"config\": \"$tap_tmp/there/share/ksweep/kernels/configs/" \
    'with the kernels that were installed'
ok 'and writes a table' there/bin/ksweep-analyze table run/results.h5 -o table.csv
is "$(sed 1d table.csv | wc -l)" 15 'one row per cell'
ok 'plan finds the installed job' there/bin/ksweep plan there/share/ksweep/jobs/quickstart.json
ok 'by its bare name, too' there/bin/ksweep plan quickstart
for f in common.sh one_node.sbatch many_nodes.sbatch array.sbatch chain.sbatch; do
    ok "slurm/$f is there" test -r "there/share/ksweep/slurm/$f"
done

done_testing
