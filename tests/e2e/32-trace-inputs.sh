#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Counters, device times measured apart, and problems, of real profiles: against what others found.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze python3
need_data traces/README.md
traces=$KSWEEP_TEST_DATA/traces
cd "$tap_tmp" || exit 1

# --- counters of the CUPTI range profiler, against Holistic Trace Analysis
rc_is 0 "counters of AlexNet on an A100" ksweep-analyze trace counters $traces/cupti_alexnet_a100.json.gz -o cupti.csv
like "$(cat err)" 'kernel times are unknown, so there are no rates' "a range's duration is not a kernel's time"
like "$(cat err)" 'flop_matrix is unknown in 77 of 77 lines' "tensor cores were not counted, and that is said"
rc_is 0 "sums by innermost operator" ksweep-analyze trace counters $traces/cupti_alexnet_a100.json.gz --by bottom -o bottom.csv
python3 - $traces/expected/hta >cupti.txt <<'PY'
import csv, sys
csv.field_size_limit(1 << 24)
def rows(p):
    return list(csv.DictReader(open(p)))
ours, theirs = rows("cupti.csv"), rows(sys.argv[1] + "/cupti_alexnet_a100.counters.csv")
pairs = (("kernel", "name"), ("op_stack", "op_stack"), ("top_level_op", "top_level_op"), ("bottom_level_op", "bottom_level_op"))
same = [all(o[a] == t[b] for a, b in pairs) and float(o["flop"]) == float(t["flops"]) and
        all(float(o[k]) == float(t[k]) for k in t if k.startswith("smsp__")) for o, t in zip(ours, theirs)]
print(len(ours), sum(same), any(o["time_ns"] or o["flop_per_s"] for o in ours))
print("fft2d_r2c_32x32" in ours[5]["kernel"], ours[5]["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"],
      ours[5]["top_level_op"], ours[5]["bottom_level_op"])
sums = {(r["bottom_level_op"], int(r["launches"]), float(r["flop"])) for r in rows("bottom.csv")}
print(sums == {(r["bottom_level_op"], int(r["count"]), float(r["sum"])) for r in rows(sys.argv[1] + "/cupti_alexnet_a100.flops_by_bottom_op.csv")})
PY
is "$(sed -n 1p cupti.txt)" "77 77 False" "all 77 ranges agree with HTA in operators, counters and FLOPs, and have no rate"
is "$(sed -n 2p cupti.txt)" "True 86114304 aten::conv2d aten::cudnn_convolution" "row 5 is HTA's own check"
is "$(sed -n 3p cupti.txt)" "True" "FLOPs by innermost operator are HTA's"

gzip -dc $traces/cupti_alexnet_a100.json.gz | head -c -3 >cut_ranges.json
rc_is 0 "ranges of a trace that is cut" ksweep-analyze trace counters cut_ranges.json
like "$(cat err)" '1 traces are damaged or truncated' "that some may be missing is said"

# --- AMD and NVIDIA files
rc_is 0 "rocprof-compute" ksweep-analyze trace counters $traces/counters/rocprof_compute_vcopy_mi200
field() { python3 -c 'import csv, sys
csv.field_size_limit(1 << 24)
print(*(r[c] for r in list(csv.DictReader(open("out")))[:1] for c in sys.argv[1:]))' "$@"; }
is "$(field dram_bytes time_ns dram_bytes_per_s flop dispatch)" "16778112 20480 819243750000 0 0" "vcopy on MI200: bytes, time, rate, no FLOP"
is "$(wc -l <out)" 4 "the files beside pmc_perf.csv, from which it was joined, are no further launches"
cp -r $traces/counters/rocprofv3 rocprofv3 && chmod u+w rocprofv3 && echo '{"rocprofiler-sdk-tool": []}' >rocprofv3/1_results.json
rc_is 0 "rocprofv3, a directory, with JSON that is no trace" ksweep-analyze trace counters rocprofv3
is "$(field dispatch time_ns SQ_WAVES device)" "1 48744 16384 1" "the kernel trace gives counters their times"
is "$(wc -l <out)" 8 "a line per launch"
rc_is 0 "Nsight Compute" ksweep-analyze trace counters $traces/counters/ncu/copy_blocked.csv
is "$(field time_ns dram_bytes_per_s stream dispatch)" "21058944 196456177859.63 7 0" "time and DRAM traffic of the details page"
rc_is 2 "a trace without ranges" ksweep-analyze trace counters $traces/mi250_minitoy_train.json.gz
like "$(cat err)" 'mi250_minitoy_train.json.gz: a trace without ranges of the CUPTI profiler' "the message says what is missing"

# --- device times into host traces
drop=()
for name in view reshape t empty transpose as_strided item _local_scalar_dense result_type _unsafe_view expand; do
    drop+=(--drop aten::$name)
done
merge() { # MODEL OUT OPTION...
    local model=$1 out=$2
    shift 2
    ksweep-analyze trace merge $traces/merge/$model.host.json.gz $traces/merge/$model.kernel_event.json.gz -o $out "$@"
}
rc_is 0 "merge, all kernels" merge h100_bert_small bert.json --truth $traces/h100_bert_small.json.gz
like "$(cat out)" '^60,60,[0-9.]+,[0-9.]+,[0-9.]+,307.197,307.197,0.000,307.197,307.197$' "busy time is exact, the starts of 60 ids are compared"
like "$(cat err)" '60 slices, 307.197 us, of 107 kernels' "operators around others are not counted twice"
rc_is 0 "merge, own time of outer operators" merge h100_timesformer tf.json --truth $traces/h100_timesformer.json.gz
like "$(cat out)" '^443,443,.*,154855.595,154855.595,0.000,' "2.305 us that the original loses are there"
rc_is 0 "merge with the original's threshold and names" merge h100_timesformer tf100.json --least 100 "${drop[@]}"
python3 - $traces >merge.txt <<'PY'
import gzip, json, sys
def load(p):
    return json.load((gzip.open if p.endswith(".gz") else open)(p, "rt"))
def slices(events, cat):
    return [(e["ts"], e["name"], e["dur"]) for e in events if e["ph"] == "X" and e.get("cat") == cat]
def near(a, b):
    return len(a) == len(b) and all(x[1:] == y[1:] and abs(x[0] - y[0]) < 0.01 for x, y in zip(sorted(a), sorted(b)))
for name, model, t in (("bert", "h100_bert_small", "t0"), ("tf100", "h100_timesformer", "t100")):
    want = slices(load("%s/expected/merge/%s.%s.appended.json.gz" % (sys.argv[1], model, t)), "device_kernel")
    trace = load(name + ".json")
    host = load("%s/merge/%s.host.json.gz" % (sys.argv[1], model))
    events, n = trace.pop("traceEvents"), len(host["traceEvents"])
    old = host.pop("traceEvents")
    new = events[n:]
    ids, pids = [e["id"] for e in new if e["ph"] == "s"], {e["pid"] for e in new if e["ph"] in "XCM"}
    free = not pids & {e.get("pid") for e in old} and len(set(ids)) == len(ids)
    free = free and not set(ids) & {e["id"] for e in old if e["ph"] in "sft"}
    print(name, len(want), near(slices(new, "kernel"), want), trace == host and events[:n] == old, free)
PY
is "$(cat merge.txt)" "bert 60 True True True
tf100 146 True True True" "slices are the original's, the host's events stay, ids are free"
cp bert.json kept.json
rc_is 0 "merge to gzip" merge h100_bert_small bert.json.gz
ok "the same trace" bash -c 'gzip -dc bert.json.gz | cmp - bert.json'
mkdir hosts kernels
for rank in 0 1; do
    ln -s $traces/merge/h100_bert_small.host.json.gz hosts/host_rank$rank.json.gz
    ln -s $traces/merge/h100_bert_small.kernel_event.json.gz kernels/rank-$rank.json.gz
done
rc_is 0 "folders of ranks" ksweep-analyze trace merge hosts kernels -o merged
ok "a trace per rank" cmp bert.json.gz merged/host_rank1.json.gz
rm kernels/rank-1.json.gz
rc_is 2 "a rank without kernels" ksweep-analyze trace merge hosts kernels -o again
not_ok "nothing is written then, of no rank" test -e again
rc_is 2 "a true trace that is not there" merge h100_bert_small x.json --truth none.json
rc_is 2 "never over an input" ksweep-analyze trace merge bert.json $traces/merge/h100_bert_small.kernel_event.json.gz -o bert.json
ok "which is as it was" cmp bert.json kept.json
printf '[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":0,"dur":1,"args":{"External id":1}},{"ph" 5}]' >torn.json
echo '{"a_1_1":{"kernel_time":2}}' >torn.times
rc_is 0 "a host trace with a torn event" ksweep-analyze trace merge torn.json torn.times -o x.json
like "$(cat err)" '1 skipped event that is not JSON' "which is said"
rm x.json
rc_is 2 "nor over standard input" sh -c 'ksweep-analyze trace merge - torn.times -o torn.json <torn.json'
head -c 300000 kept.json >cut.json
rc_is 2 "a host trace that was cut off" ksweep-analyze trace merge cut.json $traces/merge/h100_bert_small.kernel_event.json.gz -o x.json
like "$(cat err)" 'cut.json: the list of events is not closed' "is refused: nothing could be put behind its events"
rc_is 2 "kernels of another run" ksweep-analyze trace merge bert.json $traces/merge/h100_timesformer.kernel_event.json.gz -o x.json
like "$(cat err)" 'none of the 873 kernels belongs to an operator of the host trace' "are refused"
not_ok "nothing is written then" test -e x.json

# --- problems of a training step
rc_is 0 "problems of ResNet on an MI300X" ksweep problems $traces/mi300x_resnet_act_checkpoint.json.gz --export problems.csv
rc_is 0 "with what ksweep derives" ksweep problems $traces/mi300x_resnet_act_checkpoint.json.gz --list --json
python3 - $traces >problems.txt <<'PY'
import collections, csv, json, sys
T = sys.argv[1] + "/"
ours = json.load(open("out"))
keys = "n c_total k_total hi wi y x stride_h stride_w dilation_h dilation_w pad_h_lo pad_w_lo g".split()
def key(p):
    return (p["direction"], p["dtype"]) + tuple(p[k] for k in keys)
got = {key(p) for p in ours if p["operator"] == "grouped_conv"}
want = set()
for op in json.load(open(T + "conv_repros_ir_mi300x_resnet.json")):
    a = {x["arg_name"]: x["value"] for x in op["replay_ir"]["list_pos_args"]}
    x, w = a.get("input") or a["self"], a["weight"]
    dims = (x["shape"][0], x["shape"][1], w["shape"][0], *x["shape"][2:], *w["shape"][2:], *a["stride"], *a["dilation"], *a["padding"], a["groups"])
    mask = a.get("output_mask")
    for d, wanted in (("forward", mask is None), ("backward_data", mask and mask[0]), ("backward_weight", mask and mask[1])):
        if wanted:
            want.add((d, "bf16") + dims)
print(len(got), got == want, {p["layout"] for p in ours if p["operator"] == "grouped_conv"})
count = collections.Counter()
for p in ours:
    count[p["operator"], p["direction"]] += p["count"]
print(count["grouped_conv", "forward"], count["grouped_conv", "backward_data"], count["grouped_conv", "backward_weight"])
ref = [r for r in csv.DictReader(open(T + "expected/ref/mi300x_resnet_act_checkpoint.ops.tsv"), delimiter="\t")
       if r["op"] in ("aten::miopen_convolution", "aten::convolution_backward", "aten::mm", "aten::addmm")]
flop = sum(p["count"] * p["flops"] for p in ours), sum(float(r["flop"]) for r in ref)
time = sum(p["total_time_ns"] for p in ours), round(1000 * sum(float(r["gpu_us"]) for r in ref))
print(flop[0] == flop[1], abs(time[0] - time[1]) <= len(ours))
print(sum(p["total_time_ns"] == 0 for p in ours))
PY
is "$(cat problems.txt)" "32 True {'ngchw'}
117 57 60
True True
0" "convolutions are those of TraceLens's replay, with the reference's FLOPs and times; 3 want no input gradient"
rc_is 0 "the same operators, as a list for replay" ksweep problems $traces/conv_repros_ir_mi300x_resnet.json --export replay.csv
columns() { grep ^grouped_conv "$1" | cut -d, -f1-29 | sort; }
is "$(columns replay.csv | md5sum)" "$(columns problems.csv | md5sum)" "are the same convolutions, as often and in the same layout"
rc_is 0 "a list of such problems is read again" ksweep problems problems.csv --export again.csv
ok "with counts and times" cmp problems.csv again.csv
like "$(head -n 1 problems.csv)" ',count,name,total_time_ns$' "which are its last columns"
rc_is 0 "an execution trace" ksweep problems $traces/et_linear.json.gz --list
like "$(cat out)" ',gemm,forward,fp32,nhwgc,1,512,1024,1024,0,0,41,aten::addmm \(layout assumed\)$' "has shapes, no strides and no times"
rc_is 2 "a trace without shapes" ksweep problems $traces/et_linear_kineto.json.gz --export none.csv
like "$(cat err)" 'aten::mm: no shapes were recorded \(record_shapes=True\) \(1640 calls\)' "what is refused is counted, with its reason"
rc_is 1 "profiles of 2021 and 2023" ksweep problems $traces/diff_control_a100.json.gz $traces/v100_resnet50_tbplugin_w0.json.gz --count
like "$(cat out)" '^taken        145$' "older schemas are read"
# --- rooflines
rc_is 0 "a chart per device, from formulas" ksweep-analyze trace roofline $traces/h100_timesformer.json.gz -o page.html
rc_is 0 "one device as SVG, by shape" ksweep-analyze trace roofline $traces/mi300x_resnet_act_checkpoint.json.gz --by shape -o chart.svg
rc_is 0 "from counters, with the roofs beside them" ksweep-analyze trace roofline $traces/counters/rocprof_compute_vcopy_mi200 -o vcopy.svg
like "$(cat err)" "'Device 2' is not drawn" "a copy has no FLOPs, and that is said"
python3 >roofline.txt <<'PY'
import re, xml.dom.minidom
chart = xml.dom.minidom.parse("chart.svg")
circles = chart.getElementsByTagName("circle")
print(len(circles), len({c.getElementsByTagName("title")[0].firstChild.data for c in circles}))
text = open("vcopy.svg").read()
print(re.findall(">([A-Za-z0-9 ,]+) ([0-9.]+ [GT])B/s<", text), "MFMA bf16, MFMA int8, MFMA fp16 171 TFLOP/s" in text)
page = open("page.html").read()
print("NVIDIA H100 80GB HBM3, device 0" in page, "bf16 989 TFLOP/s" in page, "memory 3.35 TB/s" in page,
      page.count("<circle") == page.count('<td class="name"'), re.findall("https?://[^\"]*", page))
PY
is "$(cat roofline.txt)" "25 25
[('LDS', '18.2 T'), ('L1', '9.26 T'), ('L2', '5.04 T'), ('HBM', '1.39 T')] True
True True True True []" "dots with names, measured and datasheet roofs, nothing from outside"
rc_is 2 "traces and counters in one chart" ksweep-analyze trace roofline $traces/h100_bert_small.json.gz $traces/counters/ncu/copy_blocked.csv
like "$(cat err)" 'cannot be in one chart' "are refused"
if command -v chromium >/dev/null; then
    # A copy that tells what the browser made of the page, and proves that its console is seen.
    cat page.html - >probe.html <<'HTML'
<script>
const dots = [...document.querySelectorAll("circle")], root = document.documentElement;
const probe = { dots: dots.length, silent: dots.filter(d => !d.querySelector("title")?.textContent.trim()).length,
    drawn: dots.filter(d => d.getBoundingClientRect().width > 0).length,
    outside: dots.filter(d => { const a = d.getBoundingClientRect(), b = d.ownerSVGElement.getBoundingClientRect();
        return a.left < b.left || a.right > b.right; }).length,
    wider: root.scrollWidth > innerWidth, chart: Math.round(document.querySelector("svg").getBoundingClientRect().width) <= innerWidth };
document.title = "probe " + Object.values(probe).join(" ");
console.log("probe");
</script>
HTML
    look() { # WIDTHxHEIGHT OUT OPTION...
        local size=${1/x/,} out=$2
        shift 2
        timeout 60 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tap_tmp/profile" \
            --enable-logging=stderr "$@" --window-size="$size" --dump-dom --screenshot="$tap_tmp/$out" \
            "file://$tap_tmp/probe.html" >"$out.html" 2>"$out.log"
    }
    n=$(grep -o '<circle' page.html | wc -l)
    for view in "1300x1200 light.png" "700x600 dark.png --blink-settings=preferredColorScheme=0"; do
        # shellcheck disable=SC2086
        ok "Chromium, $view" look $view
        out=${view#* } out=${out%% *}
        is "$(grep -o '<title>probe [^<]*' $out.html | head -n 1 | cut -d ' ' -f 2-)" "$n 0 $n 0 false true" \
            "every dot is drawn inside its chart and names itself on hover; nothing sticks out"
        is "$(grep CONSOLE $out.log | grep -vc '"probe"') $(grep -c 'CONSOLE.*"probe"' $out.log)" "0 1" "the console has no message"
    done
    is "$(python3 -c '
import struct, zlib
for name in ("light.png", "dark.png"):
    b, at, data = open(name, "rb").read(), 8, b""
    size = struct.unpack(">II", b[16:24])
    while at < len(b):
        n, kind = struct.unpack(">I4s", b[at:at + 8])
        data += b[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += n + 12
    pixels = zlib.decompress(data)
    print(*size, *pixels[1:4], len(set(pixels)) > 100)')" "1300 1200 255 255 255 True
700 600 13 17 23 True" "the page fills both windows in its colours"
else
    tap_note "chromium is not installed: the page was not looked at"
fi
done_testing
