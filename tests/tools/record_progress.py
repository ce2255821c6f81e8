#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Record how a finished sweep progressed, for the test of the time left (tests/unit/test_eta.c).

usage: record_progress.py RESULTS.h5 TEXT >tests/data/progress/NAME.txt

TEXT says what sweep it was. Needs h5py. The trace is text, times from when measuring began:

    devices N                     that measured
    instances N                   of each problem
    rounds MAX                    of the job; 1 = no visits
    backend NAME ARCH
    measure WARMUP_MS MIN_SAMPLES MAX_SAMPLES MAX_MS TARGET_RSE MIN_SAMPLE_US
    problem FLOPS BYTES WIDTH N_SETTLED   one line per problem; WIDTH: channels per group, 0 = one
                                          group; N_SETTLED: cells that are refused before a worker
                                          has them
    contenders PROBLEM N TIMING_MS        of its first visit; the time of their samples in round 0
    cells MS RANK PROBLEM N N_TIMED WALL_MS     N cells have their outcome, N_TIMED of them a time
    visit MS RANK PROBLEM N WALL_MS             N measurements of visits
    end MS
"""
import json
import sys

import h5py
import numpy as np

MERGE_NS = 1_000_000_000  # rows of a rank and a problem that follow each other so closely


def width(row):
    if "g" not in row.dtype.names or row["g"] <= 1:
        return 0
    return min(row["c_total"], row["k_total"]) // row["g"]


def is_settled(row):
    return row["outcome_text"] == b"unsupported" and row["pid"] == 0


def put_head(f, text):
    run = f["runs"][0]
    job = json.loads(run["job"])
    m = job["measure"]
    print(f"# {text}")
    print("# recorded by tests/tools/record_progress.py")
    print("instances", run["n_instances"])
    print("rounds", m.get("rounds", {}).get("max", 1))
    print("backend", job["device"]["backend"], job["device"]["arch"])
    print("measure", m["warmup_ms"], m["min_samples"], m["max_samples"], m["max_ms"],
          m["target_rse"], m["min_sample_us"])
    settled = [0] * len(f["problems"])
    for row in f["attempts"][:]:
        settled[row["problem"]] += is_settled(row)
    for row, n in zip(f["problems"][:], settled):
        print(f"problem {row['flops']:.4g} {row['min_bytes']:.4g} {width(row)} {n}")


class Group:
    """Rows that are printed as one line."""

    def __init__(self, row, kind):
        self.rank, self.problem, self.kind = row["mpi_rank"], row["problem"], kind
        self.begin_ns = row["end"]
        self.n = self.n_timed = self.wall_ns = self.end_ns = 0

    def fits(self, row, kind):
        return (self.rank == row["mpi_rank"] and self.problem == row["problem"] and
                self.kind == kind and row["end"] - self.begin_ns < MERGE_NS)

    def take(self, row, wall_ns):
        self.n += 1
        self.n_timed += wall_ns > 0
        self.wall_ns += wall_ns
        self.end_ns = row["end"]

    def line(self):
        timed = f"{self.n_timed} " if self.kind == "cells" else ""
        return (self.end_ns, f"{self.kind} {self.end_ns // 1_000_000} {self.rank} {self.problem} "
                             f"{self.n} {timed}{self.wall_ns / 1e6:.0f}")


def events(rows):
    """(time, line) of all groups. An attempt that was repeated counts with the one that follows."""
    repeated, groups, last = {}, [], {}
    for row in rows:
        if row["role"] != 0 or is_settled(row):
            continue
        kind = "visit" if row["round_index"] else "cells"
        rank, wall = row["mpi_rank"], int(row["wall_ns"])
        is_ok = row["outcome_text"] == b"ok"
        if kind == "cells" and is_ok and not row["is_last"]:
            repeated[rank] = repeated.get(rank, 0) + wall
            continue
        if kind == "cells":
            wall = wall + repeated.pop(rank, 0) if is_ok else 0
        if rank not in last or not last[rank].fits(row, kind):
            last[rank] = Group(row, kind)
            groups.append(last[rank])
        last[rank].take(row, wall)
    return sorted(g.line() for g in groups)


def put_contenders(rows):
    timing, first = {}, {}
    for row in rows:
        key = (row["problem"], row["kernel"])
        if row["role"] != 0 or row["outcome_text"] != b"ok":
            continue
        if row["round_index"] == 0:
            timing[key] = row["timing_ns"] / 1e6  # of the newest attempt
        if row["round_index"] == 1:
            first.setdefault(row["problem"], set()).add(key)
    for problem in sorted(first):
        ms = sum(timing[key] for key in first[problem])
        print(f"contenders {problem} {len(first[problem])} {ms:.0f}")


def rows_of(f):
    a = f["attempts"][:]
    names = ["mpi_rank", "problem", "kernel", "attempt", "role", "round_index", "outcome_text",
             "wall_ns", "timing_ns", "pid"]
    rows = np.empty(len(a), dtype=[(n, a.dtype[n]) for n in names] +
                    [("end", "i8"), ("is_last", "?")])
    for n in names:
        rows[n] = a[n]
    rows["end"] = (a["started_ns"] + a["wall_ns"] - a["started_ns"].min()).astype("i8")
    newest = {}
    for r in rows:
        if r["role"] == 0 and r["round_index"] == 0:
            key = (r["problem"], r["kernel"])
            newest[key] = max(newest.get(key, 0), r["attempt"])
    for r in rows:
        r["is_last"] = r["attempt"] == newest.get((r["problem"], r["kernel"]))
    return np.sort(rows, order="end")


def main():
    with h5py.File(sys.argv[1], "r") as f:
        put_head(f, sys.argv[2])
        rows = rows_of(f)
    put_contenders(rows)
    lines = events(rows)
    print("devices", len({r["mpi_rank"] for r in rows if r["wall_ns"] > 1_000_000}))
    for _, line in lines:
        print(line)
    print("end", rows["end"].max() // 1_000_000)


main()
