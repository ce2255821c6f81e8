#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_compare.py KSWEEP-ANALYZE DIR RUN... - what `ksweep-analyze compare` says of sweeps of the same
thing, and of slowdowns that are planted in one side.

Every pair of the runs is compared, and every two against two others. Planted: in copies of side B (in
DIR), the recorded samples of a tenth of the instances of each problem are multiplied; which ones follows
from the ids of problem and instance and the number of the comparison. Raced cells have two rounds or more
in every sweep. Prints lines "key value", and lines for people behind "# "."""
import csv
import hashlib
import itertools
import os
import shutil
import subprocess
import sys

import h5py
import numpy

SHARE = 0.1
FACTORS = (1.05, 1.10, 1.20, 1.40)
CHANGED = ("FASTER", "SLOWER")


def results_of(run):
    return os.path.join(run, "results.h5") if os.path.isdir(run) else run


def is_chosen(seed, problem, instance):
    h = hashlib.sha256(f"{seed} {problem:016x} {instance:016x}".encode()).digest()
    return int.from_bytes(h[:8], "big") < SHARE * 2**64


def plant(source, to, factor, seed):
    """A copy of a results file in which some cells are slower; only their samples change, which is all
    that compare reads of a time. Returns the cells."""
    chosen = set()
    shutil.copyfile(source, to)
    with h5py.File(to, "r+") as f:
        rows = f["attempts"]["problem_id", "instance_id", "sample_offset", "n_samples"]
        ns = f["samples/time_ns"][...]
        for problem, instance, offset, n in rows.tolist():
            if n and is_chosen(seed, problem, instance):
                chosen.add((problem, instance))
                ns[offset:offset + n] *= numpy.float32(factor)
        f["samples/time_ns"][...] = ns
    return chosen


def compare(program, a, b, out):
    """The rows of `compare A... -- B...` that have a time on both sides."""
    subprocess.run([program, "compare", "--format", "csv", "-o", out, *a, "--", *b], check=True,
                   stdout=subprocess.DEVNULL)
    with open(out, newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["change"] not in ("LOST", "NEW")]
    for r in rows:
        r["cell"] = (int(r["problem_id"], 16), int(r["instance_id"], 16))
        r["is_raced"] = int(r["n_rounds"]) > 1
    return rows


class Sums:
    """Of all comparisons of one kind: cells, and those of them that were raced."""

    def __init__(self):
        self.cells = self.changed = self.raced = self.raced_changed = 0
        self.worst = 0.0
        self.smallest = {True: [], False: []}

    def add(self, rows):
        changed = [r for r in rows if r["change"] in CHANGED]
        self.cells += len(rows)
        self.changed += len(changed)
        self.raced += sum(r["is_raced"] for r in rows)
        self.raced_changed += sum(r["is_raced"] for r in changed)
        self.worst = max(self.worst, len(changed) / len(rows))
        for r in rows: # missing where no slowdown of one cell can be found
            self.smallest[r["is_raced"]].append(float(r["smallest_detectable"] or "inf"))


class Found:
    """Of planted cells."""

    def __init__(self):
        self.n = {True: 0, False: 0}
        self.found = {True: 0, False: 0}
        self.called = self.wrong = self.same = 0

    def add(self, rows, chosen):
        for r in rows:
            is_planted = r["cell"] in chosen
            self.n[r["is_raced"]] += is_planted
            self.found[r["is_raced"]] += is_planted and r["change"] == "SLOWER"
            self.called += r["change"] in CHANGED
            self.wrong += not is_planted and r["change"] in CHANGED
            self.same += is_planted and r["change"] == "SAME"


def percent(part, whole):
    return f"{100 * part / whole:6.2f} %" if whole else "     - "


def print_same(name, n, s):
    both = s.smallest[True] + s.smallest[False]
    print(f"# {name}, {n} comparisons, the same thing: {s.cells} cells, FASTER or SLOWER "
          f"{percent(s.changed, s.cells)}, at most {100 * s.worst:.2f} %; "
          f"raced {s.raced}: {percent(s.raced_changed, s.raced)}")
    for label, x in (("all", both), ("raced", s.smallest[True])):
        if x:
            p10, p50, p90 = numpy.percentile(x, (10, 50, 90), method="lower") # not between infinite ones
            print(f"# {name}, smallest detectable, {label}: P10 {100 * p10:.1f} %, "
                  f"P50 {100 * p50:.1f} %, P90 {100 * p90:.1f} %")
            print(f"{name}.smallest.{label} {p50:.5f}")
    print(f"{name}.cells {s.cells}\n{name}.changed {s.changed / s.cells:.6f}\n"
          f"{name}.changed_worst {s.worst:.6f}\n{name}.raced {s.raced}")


def print_found(name, factor, f):
    size = round(100 * (factor - 1))
    n, found = sum(f.n.values()), sum(f.found.values())
    print(f"# {name}, planted {size:2} %: found of raced cells {percent(f.found[True], f.n[True])} "
          f"({f.n[True]}), of all {percent(found, n)} ({n}); "
          f"false {percent(f.wrong, f.called)} of {f.called}; called SAME {percent(f.same, n)}")
    if f.n[True]:
        print(f"{name}.found_raced.{size} {f.found[True] / f.n[True]:.5f}")
    print(f"{name}.found.{size} {found / n:.5f}\n{name}.false.{size} {f.wrong / max(f.called, 1):.5f}")


def sides_of(runs, k):
    """Of k runs each."""
    for a in itertools.combinations(runs, k):
        for b in itertools.combinations([r for r in runs if r not in a], k):
            if a < b:
                yield a, b


def report(program, work, runs, name, k):
    out = os.path.join(work, "rows.csv")
    same, found = Sums(), {factor: Found() for factor in FACTORS}
    n = 0
    for n, (a, b) in enumerate(sides_of(runs, k), 1):
        same.add(compare(program, a, b, out))
        for factor in FACTORS:
            copies, chosen = [], set()
            for i, run in enumerate(b):
                copies.append(os.path.join(work, f"b{i}.h5"))
                chosen |= plant(run, copies[-1], factor, n)
            found[factor].add(compare(program, a, copies, out), chosen)
    print_same(name, n, same)
    for factor in FACTORS:
        print_found(name, factor, found[factor])
    called, wrong = (sum(getattr(f, key) for f in found.values()) for key in ("called", "wrong"))
    print(f"# {name}, planted: false {percent(wrong, called)} of {called} calls")
    print(f"{name}.called {called}\n{name}.false {wrong / max(called, 1):.5f}")


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__.split(" - ")[0])
    program, work, runs = sys.argv[1], sys.argv[2], [results_of(r) for r in sys.argv[3:]]
    report(program, work, runs, "1-1", 1)
    if len(runs) > 3:
        report(program, work, runs, "2-2", 2)


main()
