#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep-analyze trace: analyze, augment, diff and combine, on a small trace made here and on the real
# ones (tests/tools/check_traces.py holds those against expected numbers).
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep-analyze python3
export tap_tmp
cd "$tap_tmp" || exit 1

# An operator of 2x3 by 3x4 (48 FLOP, 104 bytes) with two kernels, a zero that stands in its args, a
# nested pair of convolutions with a bias kernel, a copy, and a secret.
cat >a.json <<'JSON'
{"metadata":{"env":{"TOKEN":"hush-hush"}},
"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3"}],"distributedInfo":{"rank":3},"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":10,"args":{"kernel_num_gb": 0.0,"External id":1,"Input Dims":[[2,3],[3,4]],"Input type":["float","float"],"kernel_flop":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,"args":{"correlation":5}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":3,"dur":1,"args":{"correlation":6}},
{"ph":"X","cat":"cpu_op","name":"aten::_convolution","pid":1,"tid":1,"ts":20,"dur":10,"args":{"Input Dims":[[1,2,4,4],[6,1,3,3],[6],[],[],[],[],[],[]],"Input type":["c10::Half","c10::Half","c10::Half","","","","","",""],"Concrete Inputs":["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","2"]}},
{"ph":"X","cat":"cpu_op","name":"aten::cudnn_convolution","pid":1,"tid":1,"ts":21,"dur":3,"args":{"Input Dims":[[1,2,4,4],[6,1,3,3],[],[],[],[]],"Input type":["c10::Half","c10::Half","","","",""],"Concrete Inputs":["","","[1, 1]","[1, 1]","[1, 1]","2"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":22,"dur":1,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":26,"dur":1,"args":{"correlation":8}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":40,"dur":3,"args":{"correlation":5,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"reduce","pid":0,"tid":7,"ts":43,"dur":1,"args":{"correlation":6,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"conv","pid":0,"tid":7,"ts":44,"dur":2,"args":{"correlation":7,"device":0,"stream":7,"kernel_flop":"0"}},
{"ph":"X","cat":"kernel","name":"bias","pid":0,"tid":7,"ts":46,"dur":2.5,"args":{"correlation":8,"device":0,"stream":7}},
{"ph":"s","id":8,"pid":1,"tid":1,"ts":26,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":9,"ts":45,"dur":5,"args":{"device":0,"stream":9,"bytes":5000,"memory bandwidth (GB/s)":1}},
{"ph":"X","cat":"kernel","name":"bare","pid":"x","tid":7,"ts":60,"dur":0,"args":{ }},
{"ph":"X","cat":"cuda_sync","name":"wait","pid":0,"tid":7,"ts":60,"dur":1,"args":{"wait_on_cuda_event_record_corr_id":-1}}
]}
JSON
cell() { # FILE TABLE KEY COLUMN: of the row whose third column is KEY
    python3 - "$@" <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))[sys.argv[2]]
key = [r for r in rows if sys.argv[3] in (r.get("kernel"), r.get("operator"), "first")]
print(*("%.12g" % v if isinstance(v, float) else v for v in (r[sys.argv[4]] for r in key)))
PY
}

# --- analyze
rc_is 0 "analyze" ksweep-analyze trace analyze a.json --format json -o a.out
is "$(cell a.out operators aten::mm flop) $(cell a.out operators aten::mm bytes)" "48 104" \
    "a matrix product by its shapes"
is "$(cell a.out kernels gemm flop) $(cell a.out kernels reduce flop)" "36 12" \
    "an operator's FLOPs are shared by time among its kernels, once"
is "$(cell a.out operators aten::cudnn_convolution flop)" "1728" "padding and groups count"
is "$(cell a.out kernels bias flop) $(cell a.out operators aten::_convolution flop)" "None None" \
    "of nested operators only the innermost is charged"
is "$(cell a.out kernels 'Memcpy HtoD' gb_per_s)" 1 "a copy's rate"
is "$(cell a.out summary first busy_us) $(cell a.out summary first span_us) $(cell a.out summary first sum_us)" \
    "10 20 13.5" "union, span and sum of the device's work"
is "$(cell a.out summary first memory_us) $(cell a.out summary first rank)" "5 3" "copies, and the rank"
is "$(cell a.out kernels conv units) $(cell a.out kernels gemm units)" "fp16 fp32" "the units that ran"
is "$(cell a.out kernels conv compute_percent)" \
    "$(python3 -c 'print("%.12g" % (100 * (1728 / 2e-6 / 1e12) / 989.4))')" "the share of the dense fp16 peak"
is "$(cell a.out kernels gemm bound) $(cell a.out kernels bare bound)" "memory unknown" \
    "what bounds a kernel, unknown without FLOPs"
is "$(cell a.out idle first why) $(cell a.out idle first time_us)" \
    "host_wait kernel_wait other host_wait kernel_wait other 0 11.5 0 0 0 0" "gaps of streams, by their reason"
is "$(cell a.out launches first launches) $(cell a.out launches first delay_mean_us)" "4 29.25" \
    "launches and their delay"
is "$(cell a.out own aten::_convolution own_us) $(cell a.out own aten::mm own_us)" "7 10" \
    "own time of operators on the host"
rc_is 2 "csv has one table" ksweep-analyze trace analyze a.json --format csv
rc_is 0 "the largest and the rest" ksweep-analyze trace analyze a.json --format csv --table kernels --top 2
is "$(cut -d, -f3,5,6 out | sed 1d | tr '\n' ' ')" "Memcpy HtoD,1,5 gemm,1,3 (4 others),4,5.5 " \
    "what is not shown is summed"
cat >peaks.json <<'JSON'
{"devices":[{"name":"mine","match":["h100"],"tflops":{"fp32":0.000012},"gb_per_s":0.001}]}
JSON
ok "peaks from a file" ksweep-analyze trace analyze a.json --format json --peaks peaks.json -o p.out
is "$(cell p.out kernels gemm compute_percent) $(cell p.out kernels conv compute_percent)" "100 None" \
    "they are used; what they do not give is unknown"
rc_is 2 "steps that are not there" ksweep-analyze trace analyze a.json --steps 3..4
like "$(cat err)" "no ProfilerStep# in 3..4" "and the message says so"
unlike "$(cat a.out)" hush "secrets stay in the input"

# --- augment
ok "augment" ksweep-analyze trace augment a.json -o b.json --counters
like "$(cat err)" "including metadata and environment" "that the copy holds the environment is said"
is "$(python3 - <<'PY'
import json
e = json.load(open("b.json"))["traceEvents"]
print(e[0]["args"]["kernel_flop"], e[0]["args"]["kernel_flop_before"], e[0]["args"]["kernel_num_gb"],
      e[7]["args"]["kernel_flop"], e[7]["args"]["operator"], [x["args"] for x in e if x["ph"] == "C"][:2])
PY
)" "48 0 1.04e-07 36 aten::mm [{'stream 7': 1}, {'stream 7': 2}]" \
    "zeros are replaced under another name, kernels have theirs, queues count"
ok "again, compressed, from standard input" sh -c 'ksweep-analyze trace augment - -o c.json.gz --counters <a.json'
ok "with the same bytes" sh -c 'gzip -dc c.json.gz | cmp - b.json'
cp b.json c.json
rc_is 2 "never over the input" ksweep-analyze trace augment c.json -o ./c.json
rc_is 2 "nor over standard input" sh -c 'ksweep-analyze trace augment - -o c.json <c.json'
for verb in analyze counters roofline 'diff a.json'; do
    rc_is 2 "nor does $verb" ksweep-analyze trace $verb c.json -o c.json
    like "$(cat err)" "'c.json' is also an input" "which says why"
done
ok "which stays" cmp b.json c.json

# --- diff
sed -e 's/"gemm"/"gemm2"/' -e 's/"conv","pid":0,"tid":7,"ts":44,"dur":2/"conv","pid":0,"tid":7,"ts":44,"dur":1/' \
    -e 's/"dur":2.5/"dur":4/' -e 's/H100 80GB HBM3/B200/' a.json >d.json
like "$(ksweep-analyze trace --help)" 'trace diff' "help of all verbs"
ok "diff" ksweep-analyze trace diff a.json d.json --name-a old --name-b new --format csv
is "$(cut -d, -f1,3,5,10,14 out | tr '\n' ' ')" \
    "kernel,change,old time_us,new time_us,change_us gemm,gone,3,,-3 gemm2,added,,3,3 bias,slower,2.5,4,1.5 conv,faster,2,1,-1 Memcpy HtoD,same,5,5,0 reduce,same,1,1,0 bare,same,0,0,0 (total),,13.5,14,0.5 " \
    "gone, added, slower, faster, same; the total"

# --- combine
ok "combine" ksweep-analyze trace combine a.json b.json -o e.json
ok "both are in it" ksweep-analyze trace analyze e.json --format json -o e.out
is "$(cell e.out summary first device) $(cell e.out summary first name) $(cell e.out summary first flop)" \
    "0 1 NVIDIA H100 80GB HBM3 NVIDIA H100 80GB HBM3 1776 1776" "devices and FLOPs of each, apart"
is "$(python3 - <<'PY'
import json
t = json.load(open("e.json"))
print(*sorted({e["id"] for e in t["traceEvents"] if "id" in e}), *sorted({str(e["pid"]) for e in t["traceEvents"]}),
      {v for e in t["traceEvents"] for k, v in e.get("args", {}).items() if k.startswith("wait_on")})
PY
)" "8 17592186044424 0 1 16777216 16777217 x x #2 {-1}" "flows and processes do not collide, -1 stays none"
python3 - <<'PY'
import json
flow = [{"ph": p, "cat": "ac2g", "name": "f", "pid": 1, "tid": 1, "ts": t, "id": i} for i in ("0x1F", "a-b") for p, t in (("s", 1), ("f", 2))]
json.dump({"traceEvents": flow}, open("hex.json", "w"))
PY
ok "combine flows with other ids" ksweep-analyze trace combine hex.json hex.json -o hexes.json
is "$(python3 -c 'import json; print(*sorted({e["id"] for e in json.load(open("hexes.json"))["traceEvents"]}))')" \
    "0x10000000001f 0x1F a-b a-b #2" "hexadecimal ids move, texts get the number of the file"
unlike "$(cat e.json)" hush "secrets stay in the input"
rc_is 2 "one trace is nothing to combine" ksweep-analyze trace combine a.json -o f.json

# --- dirt
head -c 1500 a.json >cut.json
ok "a trace that is cut" ksweep-analyze trace analyze cut.json --table summary
like "$(cat err)" "the file ends inside the events" "is read as far as it goes, and that is said"
gzip -c a.json | head -c 500 >cut.json.gz
ok "compressed data that are cut" ksweep-analyze trace analyze cut.json.gz
like "$(cat err)" "the gzip data is truncated" "likewise"
python3 - <<'PY' # a value of 96 MB without a bracket behind a stray backslash
import gzip
event = b'{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2}'
with gzip.open("long.json.gz", "wb", 1) as f:
    f.write(b'{"x":[\\' + b"a" * (96 << 20) + b'],"traceEvents":[' + event + b"]}")
PY
is "$(python3 - <<'PY'
import resource, subprocess
rc = subprocess.call(["ksweep-analyze", "trace", "analyze", "long.json.gz", "--table", "summary"], stdout=subprocess.DEVNULL)
mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print(rc, mib if mib > 80 else "small")
PY
)" "0 small" "what is not kept is not held"
printf '\n\022\010\002\020' >perfetto
rc_is 2 "binary Perfetto" ksweep-analyze trace analyze perfetto
like "$(cat err)" "byte [0-9]+: binary data, such as a native Perfetto trace" "is refused by name"

# --- real traces
if [ -d "$KSWEEP_TEST_DATA/traces" ]; then
    python3 "$KSWEEP_SOURCE_DIR/tests/tools/check_traces.py" "$(command -v ksweep-analyze)" \
        "$KSWEEP_TEST_DATA/traces" >real.tap
    rc=$?
    tap_report $rc "$(grep -c '^ok' real.tap) comparisons of real traces" ||
        grep -A3 '^not ok' real.tap | sed 's/^/# /'
    like "$(tail -n 1 real.tap)" '^1\.\.9[0-9]$' "all comparisons were made"
else
    echo "ok $((++tap_n)) - real traces # SKIP no $KSWEEP_TEST_DATA/traces"
fi
done_testing
