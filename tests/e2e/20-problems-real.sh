#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command lists of 66 networks and log lines as users post them: all read, and the numbers are
# those that an independent reading of the text gives.
. "$(dirname "$0")/tap.sh"
need_program ksweep python3
need_data miopen/perf_models
models=$KSWEEP_TEST_DATA/miopen/perf_models

rc_is 0 "all lists are read" ksweep problems --from miopen "$models"/*.txt --count --json
is "$(python3 - "$tap_tmp/out" "$models"/*.txt <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
commands, distinct = 0, set()
keys = ["batchsize", "in_channels", "out_channels", "in_h", "in_w", "fil_h", "fil_w", "pad_h", "pad_w",
        "conv_stride_h", "conv_stride_w", "dilation_h", "dilation_w", "group_count", "forw"]
for name in sys.argv[2:]:
    for line in open(name):
        words = line.split()
        if len(words) > 1 and words[1].startswith("conv"):
            flags = dict(zip(words[2::2], words[3::2]))
            commands += 1
            distinct.add((words[1],) + tuple(flags["--" + k] for k in keys))
want = {"commands": commands, "taken": commands, "refused": 0, "distinct": len(distinct), "refusals": []}
for k, v in want.items():
    print(k, d[k], "ok" if d[k] == v else "WANT %s" % v)
PY
)" "commands 4897 ok
taken 4897 ok
refused 0 ok
distinct 2853 ok
refusals [] ok" "as many commands and distinct problems as the text holds"

rc_is 0 "log lines as users post them" ksweep problems \
    "$KSWEEP_TEST_DATA/miopen/miopen_logcmd_samples.log" --count
like "$(cat "$tap_tmp/out")" "refused +0" "none refused"
is "$(awk '$1 == "commands" { print $2 }' "$tap_tmp/out")" \
    "$(grep -c 'MIOpenDriver conv' "$KSWEEP_TEST_DATA/miopen/miopen_logcmd_samples.log")" \
    "every driver line is a command"

done_testing
