#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep-analyze trace: PyTorch's own tables (--compat), the critical path, steps, stragglers, and what
# augment and combine keep, on small traces made here.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep-analyze python3
cd "$tap_tmp" || exit 1
compat() { ksweep-analyze trace --compat pytorch "$@"; }
column() { # TABLE COLUMN OPTION...: of all rows
    python3 - "$@" <<'PY'
import json, subprocess, sys
table, column = sys.argv[1:3]
p = subprocess.run(["ksweep-analyze", "trace", "analyze", "--format", "json"] + sys.argv[3:], capture_output=True, text=True)
print(*("%g" % v if isinstance(v, float) else v for v in (r[column] for r in json.loads(p.stdout)[table])), sep=",")
PY
}

# --- compat: the example of PyTorch's own unit test, on a device that the script knows
cat >known.json <<'JSON'
{"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":0,"dur":9,"args":{"External id":1,"Input Dims":[[1000],[1,2048],[2048,1000],[],[]],"Input type":["float","float","float","Scalar","Scalar"],"Concrete Inputs":["","","","1","1"]}},
{"ph":"X","cat":"cpu_op","name":"aten::convolution","pid":1,"tid":1,"ts":10,"dur":9,"args":{"External id":2,"Input Dims":[[1,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]],"Input type":["float","float","","","","","","",""],"Concrete Inputs":["","","","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","1"]}},
{"ph":"X","cat":"kernel","name":"void cutlass_addmm","pid":0,"tid":7,"ts":40,"dur":251.13,"args":{"External id":1,"device":0}},
{"ph":"X","cat":"kernel","name":"void cutlass_addmm","pid":0,"tid":7,"ts":400,"dur":251.13,"args":{"External id":1,"device":0}},
{"ph":"X","cat":"kernel","name":"void bfloat16 convolution of a name with more than 40 letters","pid":0,"tid":7,"ts":800,"dur":1000,"args":{"External id":2,"device":0}},
{"ph":"X","cat":"kernel","name":"bare","pid":0,"tid":7,"ts":1900,"dur":0,"args":{"External id":77,"device":0}}
]}
JSON
rc_is 0 "analysis on a known device" compat --analysis known.json float
is "$(head -n 1 out)" "Device(NVIDIA H100, 0): DeviceInfo(tops={torch.float64: 67.0, torch.float32: 67.5, 'torch.tf32': 156.0, torch.bfloat16: 1979.0, torch.float16: 1979.0, torch.float8_e4m3fn: 3958.0, torch.float8_e4m3fnuz: 3958.0, torch.float8_e5m2: 3958.0, torch.float8_e5m2fnuz: 3958.0, torch.float8_e8m0fnu: 3958.0, torch.int8: 3958.0}, dram_bw_gbs=3350, dram_gb=80):" "the device as Python prints it"
is "$(sed -n 4p out)" " void cutlass_addmm                       | 1            | 16310277545.4944  | 65.3541           | 251.1300  | 0.0242           | 1.9509               " "PyTorch's own row; equal measurements count once"
is "$(sed -n 5p out)" " void bfloat16 convolution of a name with | 1            | 223552896000.0000 | 111.7859          | 1000.0000 | 0.0113           | 3.3369               " "the type in the name counts, 40 letters are shown"
is "$(sed -n 6p out)" " bare                                     | 1            | 0.0               | 0.0               | 0.0000    | 0.0              | 0.0                  " "without duration there is no rate"
rc_is 0 "another type and limit" compat --name_limit 5 --analysis known.json float64
is "$(sed -n '4,6{s/ *|.*FLOPS.*//;s/  *|/|/gp}' out | cut -d'|' -f1,6 | tr '\n' ';')" " void| 0.0243; void| 0.0113; bare| 0.0;" "give other percentages and names"
rc_is 2 "a type that the script does not know" compat --analysis known.json fp32
like "$(cat err)" "'fp32' is not one of the script's types: float," "is named, with those that it knows"
rc_is 2 "a type that its table lacks" compat --analysis known.json long
like "$(cat err)" "no peak of NVIDIA H100 in torch.int64" "likewise"
sed -e 's/void cutlass_addmm/other/; s/"dur":1000/"dur":2000/' known.json >second.json
rc_is 0 "all verbs at once" compat --combine known.json second.json both.json -a known.json augmented.json float \
    --analysis known.json float --diff known.json old second.json new float
is "$(grep -c '^Device' out) $(tail -n 1 out)" "2 Successfully combined known.json, second.json into both.json" "run in the script's order"
is "$(sed -n 2p out | tr -s ' ')" " Kernel Name | old Kernel Count | old FLOPS | old Kernel Reads (GB) | old Dur (us) | old Achieved FLOPS % | old Achieved Bandwidth % | new Kernel Count | new FLOPS | new Kernel Reads (GB) | new Dur (us) | new Achieved FLOPS % | new Achieved Bandwidth % " "the header of a diff"
is "$(sed -n '4p;7p' out | tr -s ' ' | cut -d'|' -f1-3,8-9)" " void cutlass_addmm | 1 | 16310277545.4944 | Empty | Empty 
 other | Empty | Empty | 1 | 16310277545.4944 " "a kernel that is on one side only"
is "$(python3 - <<'PY'
import json
e = json.load(open("augmented.json"))["traceEvents"]
print(*((x["args"].get("kernel_flop"), x["args"].get("kernel_num_gb")) for x in e))
both = json.load(open("both.json"))
print(len(both["traceEvents"]), both["deviceProperties"])
PY
)" "(4096000, 0.016412384) (223552896, 0.111785856) (4096000, 0.016412384) (4096000, 0.016412384) (223552896, 0.111785856) (None, None)
12 [{'id': 0, 'name': 'NVIDIA H100'}]" "args of kernels and operators; combined as they are"
rc_is 0 "one trace to combine" compat --combine known.json alone.json
is "$(cat out)" "Error: At least 2 input files are required for combining" "is the script's own error"
not_ok "which writes nothing" test -e alone.json
rc_is 0 "nothing to do" compat
is "$(cat out)" "" "prints nothing"
rc_is 2 "a value is missing" compat --analysis known.json
like "$(cat err)" "--analysis takes 2 values, not 1" "is said"
rc_is 2 "another script" ksweep-analyze trace --compat tensorflow
rc_is 0 "help" ksweep-analyze trace --compat --help

# --- the critical path: a launch, two kernels with an event between their streams, a synchronising
# call, an idle thread; and two steps
cat >path.json <<'JSON'
{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":30},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":84,"dur":14},
{"ph":"X","cat":"cpu_op","name":"A","pid":1,"tid":1,"ts":0,"dur":10,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":2,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":1,"tid":1,"ts":5,"dur":1,"args":{"correlation":11}},
{"ph":"X","cat":"cpu_op","name":"B","pid":1,"tid":1,"ts":10,"dur":20,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":1,"tid":1,"ts":11,"dur":0.5,"args":{"correlation":12}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":12,"dur":2,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":30,"dur":55,"args":{"correlation":13}},
{"ph":"X","cat":"cpu_op","name":"C","pid":1,"tid":1,"ts":85,"dur":5,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":86,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"cpu_op","name":"D","pid":1,"tid":2,"ts":92,"dur":5,"args":{}},
{"ph":"X","cat":"kernel","name":"k1","pid":0,"tid":7,"ts":20,"dur":30,"args":{"correlation":1,"device":0,"stream":7}},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":9,"ts":11,"dur":1,"args":{"cuda_sync_kind":"Stream Wait Event","wait_on_stream":7,"wait_on_cuda_event_record_corr_id":11,"stream":9,"correlation":12,"device":0}},
{"ph":"X","cat":"kernel","name":"k2","pid":0,"tid":9,"ts":55,"dur":25,"args":{"correlation":2,"device":0,"stream":9}},
{"ph":"X","cat":"kernel","name":"k3","pid":0,"tid":7,"ts":95,"dur":1,"args":{"correlation":3,"device":0,"stream":7}}
]}
JSON
is "$(column critical bound_by path.json) $(column critical time_us path.json)" \
    "compute,launch,queue,host,host_idle,(total) 55,18,5,17,2,97" "the critical path is the whole span, without gaps"
is "$(column parts name path.json --top 5) $(column parts time_us path.json --top 5)" \
    "k1,k2,k1,k2,cudaDeviceSynchronize,(5 others) 30,25,18,5,5,14" "by name, the longest first"
is "$(column kernels kernel path.json --steps 1..1) $(column summary busy_us path.json --steps 1)" "k1,k2 55" \
    "steps: what the first launched"
is "$(column kernels kernel path.json --steps 2) $(column critical time_us path.json --steps 2)" "k3 11,2,13" \
    "what the second launched, and its own path"
is "$(column kernels kernel path.json --steps 1..2)" "k1,k2,k3" "both"
rc_is 2 "steps backwards" ksweep-analyze trace analyze path.json --steps 2..1

# --- stragglers
mkdir ranks
rank() { # N DURATION DURATION
    printf '{"distributedInfo":{"rank":%s},"traceEvents":[{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":%s,"tid":7,"ts":5,"dur":%s,"args":{"device":%s,"stream":7}},{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":%s,"tid":7,"ts":90,"dur":%s,"args":{"device":%s,"stream":7}}]}' \
        "$1" "$1" "$2" "$1" "$1" "$3" "$1" >ranks/rank$1.json
}
rank 0 4 40
rank 1 10 30
rank 2 12 35
is "$(column stragglers rank ranks) $(column stragglers came_last ranks) $(column stragglers waited_us ranks) $(column stragglers held_up_us ranks)" \
    "1,0,2 1,1,0 6,10,13 10,8,0" "the ranks that came last to collectives, and how long the others waited"
is "$(column stragglers rank ranks/rank0.json)" "" "one rank has no stragglers"

# --- augment and combine
ok "augment" ksweep-analyze trace augment known.json -o once.json --counters
ok "augment again" ksweep-analyze trace augment once.json -o twice.json --counters
ok "changes nothing" cmp once.json twice.json
python3 - <<'PY'
import json
kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0, "stream": 7}}
json.dump({"big": "x" * (2 << 20), "computeProperties": [{"name": "first", "major": 7}], "traceEvents": [kernel]}, open("old.json", "w"))
json.dump({"traceEvents": [kernel], "deviceProperties": [{"id": 0, "name": "second"}]}, open("new.json", "w"))
PY
rc_is 0 "combine a trace of 2021 with a new one" ksweep-analyze trace combine old.json new.json -o mixed.json
like "$(cat err)" "old.json: left out 'big' \(2097154 bytes\): top-level values of more than 1 MiB are not copied" "what is not copied is said"
is "$(python3 - <<'PY'
import json
t = json.load(open("mixed.json"))
print(t["deviceProperties"], [e["args"]["device"] for e in t["traceEvents"]])
PY
)" "[{'id': 0, 'name': 'first', 'major': 7}, {'id': 1, 'name': 'second'}] [0, 1]" "properties of both, under ids of their own"

done_testing
