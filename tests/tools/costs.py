#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""costs.py FDB... > tests/bench/data/costs.csv

Reads MIOpen find-db files (text, or text in bzip2) and prints the table that tests/bench/bench_sched
draws from: how long kernel calls take, how much they differ within a problem, and how far a roofline
guess is off. Problems are sorted by their median time into tenths, because neither spread nor error
is the same for short and for long ones. One row per tenth and quantile within it:

  tenth      0 (the shortest problems) to 9
  quantile   in [0, 1]
  call_s     a problem's median over its solvers, seconds of one call
  spread     a solver's time over its problem's median (problems with two solvers and more)
  residual   a problem's median over the roofline guess of src/sched/cost.c for a GPU

Lines that are not understood are counted on stderr."""
import bz2
import re
import statistics
import sys

FLOPS_PER_S, BYTES_PER_S, CALL_S = 10e12, 500e9, 10e-6  # ks_cost_rates of a GPU
SIZE = {"FP32": 4, "FP16": 2, "BF16": 2, "INT8": 1}
TENTHS = 10
QUANTILES = [0, 0.01, 0.05] + [i / 10 for i in range(1, 10)] + [0.95, 0.98, 0.99, 0.995, 0.999, 1]


def product(text):
    n = 1
    for part in text.split("x"):
        n *= int(part)
    return n


def roofline_s(key):
    """Seconds of a call; None when the key is not of the usual form (C-in-filter-K-out-N-...)."""
    fields = key.split("-")
    if not re.fullmatch(r"\d+(x\d+)+", fields[3]):  # three dimensions: C-D-H-W-filter-K-D-H-W-N
        n_in, i = 4, 4
    else:
        n_in, i = 3, 3
    dims = [int(f) for f in fields[:n_in]]
    taps, k = product(fields[i]), int(fields[i + 1])
    out = [int(f) for f in fields[i + 2:i + 1 + n_in]]
    batch = int(fields[i + 1 + n_in])
    dtype = re.search(r"-(FP32|FP16|BF16|INT8)[^-]*-[FBW]", key).group(1)
    group = re.search(r"_g(\d+)", key)
    groups = int(group.group(1)) if group else 1
    pixels_in, pixels_out = product("x".join(map(str, dims[1:]))), product("x".join(map(str, out)))
    flops = 2 * batch * k * pixels_out * dims[0] / groups * taps
    elements = batch * (dims[0] * pixels_in + k * pixels_out) + k * dims[0] / groups * taps
    return max(flops / FLOPS_PER_S, elements * SIZE[dtype] / BYTES_PER_S) + CALL_S


def times_s(value):
    """Both formats: SOLVER:ms,workspace,algorithm;... and ALGORITHM:solver,ms,...;..."""
    found = []
    for entry in value.strip().split(";"):
        fields = entry.partition(":")[2].split(",")
        text = fields[0] if re.fullmatch(r"[0-9.eE+-]+", fields[0]) else fields[1]
        found.append(float(text) * 1e-3)
    return [t for t in found if t > 0]


def read(path, problems):
    """Appends (median, spreads, residual) of each problem; returns how many lines make no sense."""
    n_bad = 0
    with (bz2.open if path.endswith(".bz2") else open)(path, "rt") as lines:
        for line in lines:
            key, _, value = line.partition("=")
            try:
                times, guess = times_s(value), roofline_s(key)
            except (ValueError, IndexError, AttributeError, KeyError):
                n_bad += 1
                continue
            if times:
                median = statistics.median_low(times)
                spreads = [t / median for t in times] if len(times) > 1 else []
                problems.append((median, spreads, median / guess))
    return n_bad


def at(ordered, q):
    return ordered[min(int(q * len(ordered)), len(ordered) - 1)]


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    problems = []
    n_bad = sum(read(path, problems) for path in sys.argv[1:])
    print(f"costs.py: {len(problems)} problems, {n_bad} lines left out", file=sys.stderr)
    if len(problems) < 100 * TENTHS:
        print("costs.py: these are too few", file=sys.stderr)
        return 1
    problems.sort()
    print("tenth,quantile,call_s,spread,residual")
    for tenth in range(TENTHS):
        of = problems[tenth * len(problems) // TENTHS:(tenth + 1) * len(problems) // TENTHS]
        columns = [p[0] for p in of], sorted(s for p in of for s in p[1]), sorted(p[2] for p in of)
        for q in QUANTILES:
            print(f"{tenth},{q:g}," + ",".join(f"{at(c, q):.4g}" for c in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
