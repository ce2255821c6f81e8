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
    linear(torch.relu(conv(image)).flatten(1)).square().sum().backward()


def device_us(e):
    """Made up: there is no device. docs/traces-recording.md has the attribute's real names."""
    return 5.0 if e.input_shapes and any(e.input_shapes) else 0.0


def record(path):
    """Two steps as docs/traces-recording.md records them; the events of the last cycle."""
    from torch.profiler import ProfilerActivity, profile, schedule
    events = []

    def ready(p):
        p.export_chrome_trace(path)
        events.extend(p.events())

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, on_trace_ready=ready,
                 schedule=schedule(wait=1, warmup=1, active=2, repeat=1)) as p:
        for _ in range(5):
            step()
            p.step()
    return events


has_kineto = torch.autograd.kineto_available()
trace = os.path.join(directory, "torch.json")
if has_kineto:
    events = record(trace)
else:
    with torch.autograd.profiler.profile(record_shapes=True) as bare:
        step()
    bare.export_chrome_trace(trace)
    events = []
kernels = {"%s_%d_%d" % (e.name, e.id, e.thread): {"kernel_time": device_us(e)} for e in events if device_us(e) > 0}
with open(os.path.join(directory, "kernels.json"), "w") as f:
    json.dump(kernels, f)

name = "ExecutionTraceObserver" if hasattr(torch.profiler, "ExecutionTraceObserver") else "ExecutionGraphObserver"
observer = getattr(torch.profiler, name)()
observer.register_callback(os.path.join(directory, "graph.json"))
observer.start()
step()
observer.stop()
observer.unregister_callback()
print("kineto" if has_kineto else "bare", torch.__version__)
