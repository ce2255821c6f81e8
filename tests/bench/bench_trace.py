#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_trace.py BIN_DIR TRACES [BIG.json] - `ksweep-analyze trace` beside its peers on one large trace.

BIG.json (default: in a temporary folder) is made by trace_big.py from the largest of TRACES when it
does not exist: 523 MiB. Each program runs three times, the fastest counts; the file is in the page
cache. Peers: cp; Python's bare json.load; a sum over kernels with simdjson, where g++ and libsimdjson
are installed; Holistic Trace Analysis, where $KSWEEP_TEST_PYTHON has it. Goals: analyze at most 1.6
times simdjson's sum, a seventh of json.load, 300 MiB; augment and diff twice analyze; combine within
3 times cp. Run it on a quiet machine."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LARGEST = ["v100_resnet50_tbplugin_w0", "diff_control_a100", "diff_test_v100",
           "mi300x_resnet_act_checkpoint", "h100_timesformer"]
SUM = r'''
#include <simdjson.h>
#include <cstdio>
int main(int, char **argv) {
    simdjson::ondemand::parser parser;
    auto text = simdjson::padded_string::load(argv[1]);
    double sum = 0;
    for (auto event : parser.iterate(text)["traceEvents"].get_array()) {
        auto o = event.get_object();
        std::string_view cat;
        double dur;
        if (o["cat"].get(cat) == simdjson::SUCCESS && (cat == "kernel" || cat == "Kernel") &&
            o["dur"].get(dur) == simdjson::SUCCESS)
            sum += dur;
    }
    printf("%.3f\n", sum);
}
'''
HTA = ("from hta.trace_analysis import TraceAnalysis as T;import sys;"
       "t=T(trace_files={0:sys.argv[1]});t.get_temporal_breakdown(visualize=False);"
       "t.get_gpu_kernel_breakdown(visualize=False)")


def measure(*words):
    """Seconds of the wall, of the CPU, MiB at most; None when it fails."""
    best = None
    for _ in range(3):
        begin = time.monotonic()
        p = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, use = os.wait4(p.pid, 0)
        wall = time.monotonic() - begin
        if status:
            return None
        row = (wall, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024)
        best = min(best or row, row)
    return best


def simdjson(tmp):
    source, program = os.path.join(tmp, "sum.cc"), os.path.join(tmp, "sum")
    with open(source, "w") as f:
        f.write(SUM)
    p = subprocess.run(["g++", "-O3", "-std=c++17", "-o", program, source, "-lsimdjson"],
                       stderr=subprocess.DEVNULL)
    return program if p.returncode == 0 else None


def main():
    bin_dir, traces = sys.argv[1:3]
    tmp = tempfile.mkdtemp()
    big = sys.argv[3] if len(sys.argv) > 3 else os.path.join(tmp, "big.json")
    if not os.path.exists(big):
        subprocess.run([sys.executable, os.path.join(HERE, "trace_big.py"), big, "523"] +
                       ["%s/%s.json.gz" % (traces, n) for n in LARGEST], check=True)
    ours, out = [os.path.join(bin_dir, "ksweep-analyze"), "trace"], os.path.join(tmp, "out.json")
    small = "%s/et_simple_add_trace.json.gz" % traces
    rows = [("analyze", ours + ["analyze", big, "--top", "20"]),
            ("augment", ours + ["augment", big, "-o", out]),
            ("diff with itself", ours + ["diff", big, big]),
            ("combine with a small one", ours + ["combine", big, small, "-o", out]),
            ("cp", ["cp", big, out]),
            ("python json.load", [sys.executable, "-c", "import json,sys;json.load(open(sys.argv[1]))", big])]
    program, python = simdjson(tmp), os.environ.get("KSWEEP_TEST_PYTHON")
    if program:
        rows.append(("simdjson sum", [program, big]))
    if python:
        rows.append(("Holistic Trace Analysis", [python, "-c", HTA, big]))
    print("%d bytes" % os.path.getsize(big))
    print("%-26s %8s %8s %8s" % ("program", "wall s", "CPU s", "MiB"))
    for name, words in rows:
        r = measure(*words)
        print("%-26s %s" % (name, "%8.2f %8.2f %8.0f" % r if r else "  failed"), flush=True)
    subprocess.run(["rm", "-rf", tmp], check=True)


main()
