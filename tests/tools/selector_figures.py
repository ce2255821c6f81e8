#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""selector_figures.py DIR NAME TABLE.csv - what the selector DIR/NAME.so, made of NAME.c, picks for every
problem of a table, as validate prints it: efficiency among the measured instances (mean, P10, median, P1,
minimum), then among all that do not refuse the problem: unmeasured picks counted 0 (mean, P10), left out
(mean, P10), and their share."""
import csv
import ctypes
import re
import sys

folder, name, table = sys.argv[1:]
header = open("%s/%s.h" % (folder, name)).read()
big = name.upper()
dims = {n.lower(): int(i) for n, i in re.findall(big + r"_DIM_(\w+) = (\d+)", header)}
n_dims = int(re.search(big + r"_N_DIMS = (\d+)", header).group(1))
n_candidates = int(re.search(big + r"_CANDIDATES (\d+)", header).group(1))
operator = int(re.search(big + r"_OPERATOR +(\d+)", header).group(1))
numbers = {kind: {n: int(i) for i, n in re.findall(r"(\d+) (\w+)", text)}
           for kind, text in re.findall(r"int32_t (direction|dtype|layout); /\*(.*?)\*/", header)}


class Problem(ctypes.Structure):
    _fields_ = [(f, ctypes.c_int32) for f in ("op", "direction", "dtype", "layout")] + [("dim", ctypes.c_int64 * n_dims)]


class Pick(ctypes.Structure):
    _fields_ = [("instance", ctypes.c_int32), ("regret", ctypes.c_float)]


def pick(problem, mask):
    one, rule = Pick(), ctypes.c_int()
    assert select(ctypes.byref(problem), (ctypes.c_uint8 * n_candidates)(*mask), ctypes.byref(one), 1, ctypes.byref(rule)) == 1
    return one.instance


def quantile(values, q):
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


so = ctypes.CDLL("%s/%s.so" % (folder, name))
select = so[name + "_select"]
identity = so[name + "_instance_id"]
identity.restype = ctypes.c_uint64
candidate = {identity(i): i for i in range(n_candidates)}
problems = {}
for row in csv.DictReader(open(table)):
    instance = candidate.get(int(row["instance_id"], 16))
    _, of, refused = problems.setdefault(row["problem_id"], (row, {}, set()))
    if row["outcome"] == "ok" and row["time_median_ns"] and instance is not None:
        of[instance] = float(row["time_median_ns"])
    elif row["outcome"] in ("unsupported", "aliased"):
        refused.add(instance)
measured, zero = [], []
for row, times, refused in problems.values():
    if not times:
        continue
    p = Problem(operator, *(numbers[k][row[k]] for k in ("direction", "dtype", "layout")))
    for n, i in dims.items():
        p.dim[i] = int(row["n_spatial_dims" if n == "ndim" else n])
    best = min(times.values())
    measured.append(best / times[pick(p, [i in times for i in range(n_candidates)])])
    zero.append(best / times.get(pick(p, [i not in refused for i in range(n_candidates)]), float("inf")))
measured.sort()
zero.sort()
rest = [v for v in zero if v > 0]
figures = [sum(measured) / len(measured)] + [quantile(measured, q) for q in (.1, .5, .01, 0)]
figures += [sum(zero) / len(zero), quantile(zero, .1), sum(rest) / len(rest), quantile(rest, .1), len(rest) / len(zero)]
print(" ".join("%.4f" % f for f in figures))
