#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_trace.py DIR - traces by the PyTorch that runs it, on the CPU: DIR/torch.json, one step of a
convolution and a linear layer with their gradients; DIR/graph.json, its execution graph;
DIR/kernels.json, a made-up device time for each operator with shapes (docs/traces-recording.md).
Prints "kineto" or, of a PyTorch without Kineto (Debian's), "bare", and the version."""
import json
import os
import sys

import torch

directory = sys.argv[1]
image, linear = torch.randn(2, 4, 9, 9, requires_grad=True), torch.nn.Linear(6 * 9 * 9, 16)
conv = torch.nn.Conv2d(4, 6, 3, padding=1)


def step():
    linear(torch.relu(conv(image)).flatten(1)).sum().backward()


has_kineto = torch.autograd.kineto_available()
step()
if has_kineto:
    from torch.profiler import ProfilerActivity, profile, schedule
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=0, warmup=1, active=2)) as p:
        for _ in range(3):
            step()
            p.step()
else:
    with torch.autograd.profiler.profile(record_shapes=True) as p:
        step()
p.export_chrome_trace(os.path.join(directory, "torch.json"))

name = "ExecutionTraceObserver" if hasattr(torch.profiler, "ExecutionTraceObserver") else "ExecutionGraphObserver"
observer = getattr(torch.profiler, name)()
observer.register_callback(os.path.join(directory, "graph.json"))
observer.start()
step()
observer.stop()
observer.unregister_callback()

with open(os.path.join(directory, "torch.json")) as f:
    trace = json.load(f)
events = trace["traceEvents"] if isinstance(trace, dict) else trace
kernels = {"%s_%d_1" % (e["name"], e["args"]["External id"]): {"kernel_time": 5.0}
           for e in events if e.get("cat") == "cpu_op" and e["args"].get("Input Dims") and "External id" in e["args"]}
with open(os.path.join(directory, "kernels.json"), "w") as f:
    json.dump(kernels, f)
print("kineto" if has_kineto else "bare", torch.__version__)
