#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands of docs/tutorial.md, run as they stand, with a few problems and the shortest samples.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
need_program ksweep ksweep-worker ksweep-analyze
[ "$(nproc)" -ge 2 ] || skip_all "one core: the page measures with two ranks"
cd "$tap_tmp" || exit 1
page=$KSWEEP_SOURCE_DIR/docs/tutorial.md

# A source tree of the page's paths, with lists of three layers and the cache of the other tests.
mkdir -p build jobs/problems xdg "$tiny_cache"
ln -s "$KSWEEP_BIN" build/bin
ln -s "$tiny_cache" xdg/ksweep
export XDG_CACHE_HOME=$tap_tmp/xdg
for net in mobilenet_v2 resnet50; do
    grep -E '^operator|,(14|7),(14|7),1,1,1,' "$KSWEEP_SOURCE_DIR/jobs/problems/$net.csv" | head -n 4 >jobs/problems/$net.csv
done
# Its blocks, with fewer problems and shorter samples, which are the only differences.
sed -n 's/^    //p' "$page" | sed -e 's/--sample 96/--sample 6/' \
    -e 's/"warmup_ms": 5, "max_ms": 60,/"warmup_ms": 0, "min_samples": 1, "max_samples": 9, "max_ms": 1,/' \
    -e 's/"retries": 1 /"retries": 0 /' >page.sh
is "$(diff <(sed -n 's/^    //p' "$page") page.sh | grep -c '^>')" 2 "the two lines that are shortened are there"
# The page says which commands may end with 1: rows that need a look, a model no better than a baseline.
{ echo 'trap "[ \$? -le 1 ] || exit 9" ERR' && cat page.sh; } >run.sh
ok "every command of the page ends with 0 or 1" timeout 100 bash run.sh
is "$(ksweep status tutorial/sweep --json | sed -n 's/^ *"pending": *\([0-9]*\).*/\1/p')" 0 "the sweep is complete"
for made in net.csv shapes.csv report.html training.csv model/manifest.json next.csv selector/selector.c choose; do
    ok "$made" test -s "tutorial/$made"
done
is "$(tutorial/choose | grep -cE ': grouped_conv_forward_fp32_2d_[a-z0-9_]+ \(by [a-z]+\)$')" 2 "the linked selector answers"
# examples/dispatch with the page's selector and the kernels of its job, as jobs/heuristic.sh does it.
ksweep build tutorial/sweep.json --manifest kernels.csv >out 2>err
ok "the manifest of the kernels" test -s kernels.csv
ok "the dispatcher compiles" cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -I"$KSWEEP_SOURCE_DIR" -Itutorial/selector \
    "$KSWEEP_SOURCE_DIR/examples/dispatch/dispatch.c" tutorial/selector/selector.c -o dispatch -ldl -lm
rc_is 0 "it runs a network" ./dispatch kernels.csv jobs/problems/resnet50.csv
like "$(cat out)" '^all +[1-9][0-9]* +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]\.[0-9]{3}' "and prints its totals"
like "$(cat out)" 'outputs of selector and fixed differ by at most [0-9.]+e-?' "and compares outputs"
done_testing
