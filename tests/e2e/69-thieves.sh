#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Kernels that look for the answer instead of computing it: none gets a good label.
. "$(dirname "$0")/tap.sh"
need_program cc h5rows
export XDG_CACHE_HOME=$tap_tmp/cache

cat >"$tap_tmp/job.json" <<EOF
{ "name": "thieves", "why": "every way to an answer that was not computed", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/thief_kernels.json"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/small.csv"} ],
  "device": {"backend": "host"},
  "measure": {"warmup_ms": 0, "max_ms": 2, "max_samples": 10,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}} }
EOF
timeout 100 ksweep run "$tap_tmp/job.json" --out "$tap_tmp/dir" >"$tap_tmp/out" 2>"$tap_tmp/err"
is $? 1 'the sweep is complete, and says that cells need a look'
h5rows "$tap_tmp/dir/results.h5" measurements kernel_name outcome_text reason floor_ns >"$tap_tmp/rows" ||
    tap_note "$(tail -n 5 "$tap_tmp/err")"
outcome() { sed -n "s/^thief_$1	\\([^	]*\\)	.*/\\1/p" "$tap_tmp/rows"; }
reason() { sed -n "s/^thief_$1	[^	]*	\\([^	]*\\)	.*/\\1/p" "$tap_tmp/rows"; }
is "$(outcome good)" ok 'who computes is ok'
for theft in fd maps search leftover; do
    is "$(outcome $theft)" wrong_result "$theft finds nothing"
done
is "$(outcome drain)" launch_failed 'who takes the key away fails'
like "$(reason drain)" 'the key of the references is lost' 'and is told so'
if awk -F '\t' '$4 > 0 { n++ } END { exit n == 0 }' "$tap_tmp/rows"; then
    is "$(outcome hasty)" wrong_result 'a kernel that returns at once is found out'
else
    tap_note "skipped: nothing is known of this CPU's peak"
fi
done_testing
