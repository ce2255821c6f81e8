#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every `ksweep-analyze trace` command on a trace that the PyTorch installed here has just written, on the CPU.
# Debian's PyTorch has no Kineto: it writes the older bare array without categories, ids and shapes; its
# execution graph has the shapes.
. "$(dirname "$0")/tap.sh"
torch=
for p in "${KSWEEP_TEST_PYTHON:-}" /usr/bin/python3 python3; do
    [ -z "$torch" ] && [ -n "$p" ] && "$p" -c 'import torch' 2>/dev/null && torch=$p
done
[ -n "$torch" ] || skip_all "no Python with torch: Debian's python3-torch, or PyPI's torch in \$KSWEEP_TEST_PYTHON"
need_program ksweep ksweep-analyze python3
cd "$tap_tmp" || exit 1
ok "PyTorch writes a trace and a graph" "$torch" "$KSWEEP_SOURCE_DIR/tests/tools/torch_trace.py" .
tap_note "$(cat out)"
kind=$(cut -d' ' -f1 out)
is "$(head -c 9 torch.json | tr -d "[:space:]" | head -c 1)" "$([ "$kind" = bare ] && echo '[' || echo '{')" "a trace of the kind '$kind'"
rc_is 0 "analyze" ksweep-analyze trace analyze torch.json --table own --format csv
like "$(cut -d, -f2 out | tr '\n' ' ')" "aten::(addmm|linear).*aten::convolution|aten::convolution.*aten::(addmm|linear)" "the operators"
rc_is 0 "problems of the graph" ksweep problems graph.json --list
like "$(cat out)" ',gemm,forward,fp32,[a-z]*,1,2,16,486,' "the matrix product"
like "$(cat out)" 'conv,forward,fp32,.*,2,.*,9,9,' "the convolution"
if [ "$kind" = bare ]; then
    done_testing
    exit
fi
for format in text markdown json; do
    rc_is 0 "analyze, $format" ksweep-analyze trace analyze torch.json --format $format
    like "$(cat out)" 'aten::convolution_backward' "names the gradient"
done
rc_is 0 "one step" ksweep-analyze trace analyze torch.json --steps 2..2 --table summary --format csv
rc_is 0 "augment" ksweep-analyze trace augment torch.json -o augmented.json
ok "which has nothing to add to a trace without kernels" cmp torch.json augmented.json
rc_is 0 "diff with itself" ksweep-analyze trace diff torch.json torch.json --by operator --format csv
rc_is 0 "combine" ksweep-analyze trace combine torch.json torch.json -o both.json
is "$(python3 -c 'import json
a, b = (json.load(open(f))["traceEvents"] for f in ("torch.json", "both.json"))
print(len(b) - 2 * len(a), len({e["id"] for e in b if "id" in e}) - 2 * len({e["id"] for e in a if "id" in e}))')" "0 0" \
    "all events twice, flows apart"
rc_is 0 "merge device times measured apart" ksweep-analyze trace merge torch.json kernels.json -o merged.json
rc_is 0 "the merged trace" ksweep-analyze trace analyze merged.json --table operators --format csv
like "$(cat out)" 'aten::(mkldnn_|thnn_conv2d|_slow_conv2d|convolution)' "has kernels of the convolution"
rc_is 0 "its roofline" ksweep-analyze trace roofline merged.json --by operator -o roofline.html
like "$(cat roofline.html)" '<svg' "is drawn"
rc_is 2 "counters of a trace without any" ksweep-analyze trace counters torch.json
like "$(cat err)" 'torch.json: a trace without ranges' "say what is missing"
rc_is 2 "a roofline without kernels" ksweep-analyze trace roofline torch.json -o none.html
like "$(cat err)" 'no device ran a kernel' "says so"
rc_is 0 "the original's tables" ksweep-analyze trace --compat pytorch --analysis torch.json float
rc_is 0 "problems of the trace" ksweep problems torch.json --list
for direction in forward backward_data backward_weight; do
    like "$(cat out)" "grouped_conv,$direction,fp32,.*,4,6,1,9,9,.*,2," "the convolution, $direction"
done
like "$(cat out)" ',gemm,forward,fp32,[a-z]*,1,2,16,486,0,1,2,' "the matrix product, of two steps"
done_testing
