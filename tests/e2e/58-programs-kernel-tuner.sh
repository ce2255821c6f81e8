#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A real program that times kernels on a CPU, through the adapter `lines`: Kernel Tuner with its C backend.
# waits: yes
. "$(dirname "$0")/tap.sh"
python=${KSWEEP_TEST_PYTHON:-python3}
need_program python3 g++
"$python" -c 'import kernel_tuner' 2>/dev/null || skip_all 'a Python with kernel_tuner is needed (KSWEEP_TEST_PYTHON)'
python=$(command -v "$python")
cd "$tap_tmp" || exit 1
head -n 2 "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" | sed '2s/,0,1,1,0,1,1,/,0,0,0,0,0,0,/' >one.csv
cat >tuner.json <<END
{ "name": "tuner", "operator": "grouped_conv", "problems": [ { "file": "one.csv" } ],
  "kernels": [ { "program": "lines", "path": "$python", "timeout_s": 120,
    "options": {
      "command": ["{program}", "$KSWEEP_SOURCE_DIR/tests/tools/kernel_tuner_conv.py", "{n}", "{c_total}", "{hi}", "{wi}",
        "{k_total}", "{y}", "{x}"],
      "output": "json", "version": "$("$python" -c 'from importlib.metadata import version; print(version("kernel_tuner"))')",
      "fields": { "instance": "name", "time": "ms", "rate": "gflops", "tile_k": "tile_k", "tile_c": "tile_c" },
      "end": "^done$",
      "protocol": { "repeats": 5, "cache": "warm", "statistic": "mean", "verified": "none" } } } ] }
END
ok 'a sweep' ksweep run tuner.json --out tuner
ok 'its journal and results.h5 agree' ksweep check tuner
ok 'its table' ksweep-analyze table tuner/results.h5 -o table.csv
is "$(python3 - <<'END'
import csv
rows = list(csv.DictReader(open("table.csv")))
flops = 2 * 6 * 6 * 32 * 16 * 9
print(len(rows), all(r["outcome"] == "ok" and 10 < float(r["time_median_ns"]) < 1e9 for r in rows),
      sorted({(int(r["trait_tile_k"]), int(r["trait_tile_c"])) for r in rows}),
      all(abs(float(r["printed_flops_per_s"]) / (flops / float(r["time_median_ns"]) * 1e9) - 1) < 0.01 for r in rows))
END
)" '6 True [(1, 1), (1, 8), (4, 1), (4, 8), (16, 1), (16, 8)] True' 'a row per configuration, its traits, times and rates'
done_testing
