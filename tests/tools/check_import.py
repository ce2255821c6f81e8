# SPDX-License-Identifier: MIT
"""Holds an imported results file against an independent reading of its source.

    check_import.py fdb FILE.h5 SOURCE.txt      MIOpen's find-db
    check_import.py t4 FILE.h5 SOURCE.json      T4 results
    check_import.py cache FILE.h5 SOURCE.json   a cache of Kernel Tuner

Several such triples in one call are fine. Prints one line per figure, "name value ok" or "name value WANT other".
"""
import json
import statistics
import sys

import h5py
import numpy as np

FLAGS = {"imported": 13, "truncated_list": 14, "contradicted": 15, "zero_time": 16, "impossible": 17,
         "undecoded": 18, "partial_output": 19}


def say(name, got, want):
    print(name, got, "ok" if got == want else "WANT %s" % (want,))


def read_fdb(path):
    """Keys, and (key, solver, time in ms) of every row."""
    keys, rows = [], []
    for line in open(path):
        key, _, text = line.rstrip("\n").partition("=")
        keys.append(key)
        for entry in text.split(";"):
            first, rest = entry.split(":", 1)
            parts = rest.split(",")
            if first.startswith("miopenConvolution"):
                first, parts = parts[0], parts[1:]
            rows.append((key, first, float(parts[0]), int(float(parts[1]))))
    return keys, rows


def problem_of(key):
    """What the key says, in our terms: (direction, dtype, n, g, c, k, input, filter, out)."""
    p = key.split("-")
    nd = 2 if "x" in p[3] else 3
    c, ins = int(p[0]), p[1:1 + nd]
    fil = p[1 + nd].split("x")
    k, outs, n = int(p[2 + nd]), p[3 + nd:3 + 2 * nd], int(p[3 + 2 * nd])
    direction = p[-1].split("_")[0]
    g = int(p[-1].split("_g")[1]) if "_g" in p[-1] else 1
    if direction != "F":
        c, k, ins, outs = k, c, outs, ins
    return ({"F": "forward", "B": "backward_data", "W": "backward_weight"}[direction], p[-2].lower(), n, g, c, k,
            tuple(map(int, ins)), tuple(map(int, fil)), tuple(map(int, outs)))


def row_problem(p):
    nd = p["n_spatial_dims"]
    dims = ["d", "h", "w"][3 - nd:]
    return (p["direction"].decode(), p["dtype"].decode(), p["n"], p["g"], p["c_total"], p["k_total"],
            tuple(p[d + "i"] for d in dims), tuple(p[d] for d in "zyx"[3 - nd:]), tuple(p["out_" + d] for d in dims))


def check_fdb(f, source):
    keys, rows = read_fdb(source)
    m = f["measurements"][:]
    flags = m["outcome_flags"]
    say("keys", len(f["problems"]), len(set(keys)))
    say("rows", len(f["attempts"]), len(rows))
    say("imported", int(np.sum(flags >> FLAGS["imported"] & 1)), len(m))
    say("zero", int(np.sum(flags >> FLAGS["zero_time"] & 1)), sum(t == 0 for _, _, t, _ in rows))
    lists = {}
    for key, _, _, _ in rows:
        lists[key] = lists.get(key, 0) + 1
    old = "miopenConvolution" in open(source).readline().split("=")[1].split(":")[0]
    say("truncated", int(np.sum(flags >> FLAGS["truncated_list"] & 1)),
        sum(1 for key, _, _, _ in rows if old or lists[key] >= 4))
    names = [n.decode() for n in f["kernels"]["instance_name"]]
    got = f["attempts"][:]
    say("times", int(np.sum(np.float32(got["time_median_ns"]) == np.float32([t * 1e6 if t else -1 for _, _, t, _ in rows]))),
        len(rows))
    say("workspaces", int(np.sum(got["workspace_bytes"] == np.array([w for _, _, _, w in rows]))), len(rows))
    say("solvers", sum(names[k] == s for k, (_, s, _, _) in zip(got["kernel"], rows)), len(rows))
    undecoded = flags >> FLAGS["undecoded"] & 1
    problems = f["problems"][:]
    step = max(1, len(rows) // 500)
    seen = {int(i): None for i in got["problem"][::step]}
    bad = sum(1 for i in range(0, len(rows), step) if not undecoded[i] and
              row_problem(problems[got["problem"][i]]) != problem_of(rows[i][0]))
    say("problems that differ", bad, 0)
    say("problems looked at", len(seen) > 20, True)
    ok = m["outcome"] == 1
    marks = sum(flags >> FLAGS[k] & 1 for k in ("contradicted", "zero_time", "impossible", "undecoded"))
    say("ok rows without a mark", int(np.sum(ok & (marks == 0))), int(np.sum(ok)))
    say("marked rows that are untrusted", int(np.sum((marks > 0) & (m["outcome"] == 18))), int(np.sum(marks > 0)))
    print("impossible", int(np.sum(flags >> FLAGS["impossible"] & 1)))
    print("undecoded", int(np.sum(undecoded)))
    print("contradicted", int(np.sum(flags >> FLAGS["contradicted"] & 1)))


def medians(f):
    names = [n.decode() for n in f["kernels"]["instance_name"]]
    return {names[r["kernel"]]: (float(r["time_median_ns"]), int(r["n_samples"])) for r in f["measurements"][:]}


def check_tuner(f, want):
    got = medians(f)
    say("configurations", len(got), len(want))
    say("medians", sum(abs(got[k][0] / v[0] - 1) < 1e-6 and got[k][1] == v[1] for k, v in want.items() if k in got),
        len(want))
    say("samples", len(f["samples/time_ns"]), sum(v[1] for v in want.values()))
    say("traits", len(f["kernel_traits/long"]), sum(k.count(",") + 1 for k in want))


def check_t4(f, source):
    doc = json.load(open(source))
    check_tuner(f, {",".join(str(v) for v in r["configuration"].values()):
                    (statistics.median(r["times"]["runtimes"]) * 1e6, len(r["times"]["runtimes"]))
                    for r in doc["results"]})


def check_cache(f, source):
    doc = json.load(open(source))
    check_tuner(f, {k: (statistics.median(v["times"]) * 1e6, len(v["times"])) for k, v in doc["cache"].items()})


if __name__ == "__main__":
    for i in range(1, len(sys.argv), 3):
        kind, path, origin = sys.argv[i:i + 3]
        print("#", path)
        {"fdb": check_fdb, "t4": check_t4, "cache": check_cache}[kind](h5py.File(path), origin)
