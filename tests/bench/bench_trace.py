#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_trace.py BIN_DIR TRACES [RUNS [BIG.json]] - `ksweep-analyze trace` beside its peers on one large
trace: lines "key value" for figures.py.

BIG.json is made by trace_big.py from the largest of TRACES: 554 MB. A trace of half that size
(BIG.json.half) shows whether the cost is linear, BIG.json.gz the cost of gzip. All three are made
where they do not exist, and kept; without BIG.json they go to a temporary folder. Each program runs
RUNS times (3; json.load and Holistic Trace Analysis as SLOW says), and the fastest run counts; the
files are in the page cache. Peers: cp and a sync of the copy; Python's bare json.load; a sum over
kernels with simdjson, where g++ and libsimdjson-dev are installed, or $KSWEEP_SIMDJSON is a directory
with simdjson.h and simdjson.cpp; Holistic Trace Analysis, where $KSWEEP_TEST_PYTHON has it; gzip -dc. A
missing peer has no line, and a comment names the reason. Run it on a quiet machine."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LARGEST = ["v100_resnet50_tbplugin_w0", "diff_control_a100", "diff_test_v100",
           "mi300x_resnet_act_checkpoint", "h100_timesformer"]
SLOW = {"json": 2, "hta": 1}
SUM = r'''
#include <simdjson.h>
#include <cstdio>
int main(int, char **argv) {
    simdjson::ondemand::parser parser;
    simdjson::padded_string text = simdjson::padded_string::load(argv[1]);
    simdjson::ondemand::document trace = parser.iterate(text);
    double sum = 0;
    for (auto event : trace["traceEvents"].get_array()) {
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
# Loading only: get_temporal_breakdown of HTA 0.5.0 ends in an assertion (compute_time <= kernel_time)
# on a trace that is replicated from several.
HTA = "from hta.trace_analysis import TraceAnalysis as T;import sys;T(trace_files={0:sys.argv[1]})"


def measure(runs, words):
    """Seconds of the wall and MiB at most; None when it fails."""
    best = None
    for _ in range(runs):
        begin = time.monotonic()
        p = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, use = os.wait4(p.pid, 0)
        wall = time.monotonic() - begin
        if status:
            return None
        row = (wall, use.ru_maxrss / 1024)
        best = min(best or row, row)
    return best


def simdjson(tmp):
    source, program = os.path.join(tmp, "sum.cc"), os.path.join(tmp, "sum")
    with open(source, "w") as f:
        f.write(SUM)
    at = os.environ.get("KSWEEP_SIMDJSON")
    peer = ["-I" + at, os.path.join(at, "simdjson.cpp")] if at else []
    p = subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", program, source] + peer +
                       ([] if at else ["-lsimdjson"]), stderr=subprocess.DEVNULL)
    return program if p.returncode == 0 else None


def peers(tmp, big):
    """(key, command or None, what is missing)"""
    program, python = simdjson(tmp), os.environ.get("KSWEEP_TEST_PYTHON")
    has_hta = python and subprocess.run([python, "-c", "import hta"], stderr=subprocess.DEVNULL).returncode == 0
    yield "simdjson", [program, big] if program else None, "libsimdjson-dev, or KSWEEP_SIMDJSON"
    yield "json", [sys.executable, "-c", "import json,sys;json.load(open(sys.argv[1]))", big], ""
    yield "hta", [python, "-c", HTA, big] if has_hta else None, "KSWEEP_TEST_PYTHON with HolisticTraceAnalysis"


def make_big(path, traces, mib):
    if not os.path.exists(path):
        subprocess.run([sys.executable, os.path.join(HERE, "trace_big.py"), path, str(mib)] +
                       ["%s/%s.json.gz" % (traces, n) for n in LARGEST], check=True,
                       stdout=subprocess.DEVNULL)


def rows(ours, tmp, big, half, packed, small, out):
    """(key, command or None, what is missing), in the order in which they are measured."""
    yield "analyze", ours + ["analyze", big, "--top", "20"], ""
    yield "half", ours + ["analyze", half, "--top", "20"], ""
    yield "packed", ours + ["analyze", packed, "--top", "20"], ""
    yield "gunzip", ["gzip", "-dc", packed], ""
    yield "augment", ours + ["augment", big, "-o", out], ""
    yield "diff", ours + ["diff", big, big], ""
    yield "combine", ours + ["combine", big, small, "-o", out], ""
    yield "cp", ["sh", "-c", 'cp "$1" "$2" && sync "$2"', "sh", big, out], ""
    yield from peers(tmp, big)


def bench(tmp, bin_dir, traces, runs, big):
    big = big or os.path.join(tmp, "big.json")
    half, packed = big + ".half", big + ".gz"
    make_big(big, traces, 523)
    make_big(half, traces, 261)
    if not os.path.exists(packed):
        with open(packed, "wb") as f:
            subprocess.run(["gzip", "-1c", big], stdout=f, check=True)
    ours = [os.path.join(bin_dir, "ksweep-analyze"), "trace"]
    small, out = "%s/et_simple_add_trace.json.gz" % traces, os.path.join(tmp, "out.json")
    print("mb %.1f" % (os.path.getsize(big) / 1e6))
    print("half_mb %.1f" % (os.path.getsize(half) / 1e6))
    for key, words, missing in rows(ours, tmp, big, half, packed, small, out):
        r = measure(SLOW.get(key, runs), words) if words else None
        if r:
            print("%s_s %.3f\n%s_mib %.0f" % (key, r[0], key, r[1]), flush=True)
        else:
            print("# %s: %s" % (key, "failed" if words else "not measured, needs " + missing), flush=True)


def main():
    bin_dir, traces = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as tmp:
        bench(tmp, bin_dir, traces, runs, sys.argv[4] if len(sys.argv) > 4 else None)


main()
