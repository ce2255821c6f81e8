#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_plain.py RUN... - visits beside plain sampling, from recorded sweeps with visits of one job.

Plain sampling measures every instance in every round: round 0 of several sweeps. Visits: round 0 and visits of
one sweep, in which contenders alone are measured, cut after a pass. Both name a winner; what it takes is
told by the sweeps that neither has used: the label's statistic of each of their rounds, mean of logs. A
visit's round is the mean of logs of its passes; winners of visits are among those that have the last round,
by the median over rounds (plain: mean). Time: samples x calls of all measurements. Compared are the two
winners with each other, so that no yardstick's best is needed:
    excess = log time of the visits' winner - log time of plain sampling's winner
Prints for each cut and number of plain rounds the time of visits over that of plain sampling, the mean of
the excess with a 95 % bootstrap interval over problems, and P90 of the regret of each against the best of
the held-out sweeps by the same statistic (which is too large for both alike). Lines "key value", and lines
for people behind "# "."""
import itertools
import os
import sys

import h5py
import numpy

LOW = 0.1
DRAWS = 1000
PASSES = 2
COLUMNS = ("problem_id", "instance_id", "round_index", "role", "is_final", "position", "sample_offset",
           "n_samples", "calls_per_sample", "attempt")


def low(ns):
    """The 10 % quantile, Hyndman and Fan 8, as src/record/statistic.c has it."""
    x = numpy.sort(ns)
    at = LOW * (len(x) + 1 / 3) + 1 / 3 - 1
    lo = min(max(int(numpy.floor(at)), 0), len(x) - 1)
    hi = min(lo + 1, len(x) - 1)
    return x[lo] + (x[hi] - x[lo]) * min(max(at - lo, 0), 1)


class Sweep:
    """passes[cell][round]: logs of times in the order of a visit; spent[problem][round, pass]: ns."""

    def __init__(self, run):
        self.passes, self.spent = {}, {}
        with h5py.File(os.path.join(run, "results.h5"), "r") as f:
            ns = f["samples/time_ns"][...].astype(float)
            rows = f["attempts"][...]
        rows = [dict(zip(COLUMNS, r)) for r in zip(*(rows[c].tolist() for c in COLUMNS))]
        rows = [r for r in rows if r["role"] == 0 and r["n_samples"]]
        counts = {(r["problem_id"], r["instance_id"]): r["attempt"] for r in rows if r["is_final"]}
        for r in sorted(rows, key=lambda r: r["position"]):
            cell, k = (r["problem_id"], r["instance_id"]), r["round_index"]
            if k == 0 and r["attempt"] != counts.get(cell):
                continue
            x = ns[r["sample_offset"]:r["sample_offset"] + r["n_samples"]]
            of = self.passes.setdefault(cell, {}).setdefault(k, [])
            spent = self.spent.setdefault(cell[0], {})
            spent[k, len(of)] = spent.get((k, len(of)), 0) + x.sum() * r["calls_per_sample"]
            of.append(float(numpy.log(low(x))))

    def values(self, cells, cut):
        """value[cell][round], of what a cut leaves: rounds before the last, and so many of its passes."""
        last, n = cut
        return {c: {k: float(numpy.mean(x[:n] if k == last else x))
                    for k, x in self.passes[c].items() if k <= last} for c in cells}

    def time(self, problem, cut):
        return sum(ns for (k, i), ns in self.spent[problem].items()
                   if k < cut[0] or (k == cut[0] and i < cut[1]))


def align(value, cells, rounds):
    """Rounds less what all cells that have them share: against round 0."""
    out = {c: {} for c in cells}
    for r in rounds:
        both = [value[c][r] - value[c][0] for c in cells if r in value[c]]
        shift = float(numpy.median(both)) if both else 0
        for c in cells:
            if r in value[c]:
                out[c][r] = value[c][r] - shift
    return out


def winner_of_visits(sweep, cells, cut):
    value = align(sweep.values(cells, cut), cells, range(cut[0] + 1))
    most = max(max(v) for v in value.values())
    left = [c for c in cells if most in value[c]]
    return min(left, key=lambda c: float(numpy.median(list(value[c].values()))))


def winner_of_plain(sweeps, cells):
    return min(cells, key=lambda c: sum(s.passes[c][0][0] for s in sweeps))


def truth(sweeps, cells, n_rounds):
    aligned = [align(s.values(cells, (n_rounds, 0)), cells, range(n_rounds)) for s in sweeps]
    return {c: float(numpy.mean([v for a in aligned for v in a[c].values()])) for c in cells}


def problems_of(sweeps):
    out = {}
    for c in sweeps[0].passes:
        if all(0 in s.passes.get(c, {}) for s in sweeps):
            out.setdefault(c[0], []).append(c)
    return {p: c for p, c in out.items() if len(c) > 1}


class Cache:
    """Winners and truths of a problem, by who was asked."""

    def __init__(self):
        self.known = {}

    def get(self, key, make):
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]


def compare(sweeps, problems, cut, n_plain, n_rounds, cache):
    """Per problem and split: time of visits / plain, excess, regret of both. Round 0 of the sweep with
    visits may be one of the plain rounds."""
    rows, all_of = [], range(len(sweeps))
    for i in all_of:
        for plain in itertools.combinations(all_of, n_plain):
            held = tuple(k for k in all_of if k != i and k not in plain)
            for p, cells in problems.items() if held else ():
                known = cache.get((p, held), lambda: truth([sweeps[k] for k in held], cells, n_rounds))
                a = cache.get((p, i, cut), lambda: winner_of_visits(sweeps[i], cells, cut))
                b = cache.get((p, plain, 0), lambda: winner_of_plain([sweeps[k] for k in plain], cells))
                time = sweeps[i].time(p, cut) / sum(sweeps[k].time(p, (0, 1)) for k in plain)
                best = min(known.values())
                rows.append((p, time, known[a] - known[b], known[a] - best, known[b] - best))
    return rows


def interval(rows):
    """Of the mean excess; problems are drawn."""
    of = {}
    for r in rows:
        of.setdefault(r[0], []).append(r[2])
    means = numpy.array([numpy.mean(x) for x in of.values()])
    rng = numpy.random.default_rng(14)
    draws = means[rng.integers(0, len(means), (DRAWS, len(means)))].mean(axis=1)
    return means.mean(), *numpy.percentile(draws, (2.5, 97.5))


def main():
    sweeps = [Sweep(r) for r in sys.argv[1:]]
    if len(sweeps) < 3:
        sys.exit(__doc__.split(" - ")[0] + " (three runs or more)")
    problems, cache = problems_of(sweeps), Cache()
    n_rounds = 1 + max(k for s in sweeps for v in s.passes.values() for k in v)
    print(f"# {len(problems)} problems, {len(sweeps)} sweeps of up to {n_rounds} rounds")
    for cut in [(0, 1)] + [(k, n + 1) for k in range(1, n_rounds) for n in range(PASSES)]:
        for n_plain in range(1, len(sweeps)):
            rows = compare(sweeps, problems, cut, n_plain, n_rounds, cache)
            time = float(numpy.median([r[1] for r in rows]))
            mean, lo, hi = interval(rows)
            p90 = [100 * numpy.percentile([r[k] for r in rows], 90) for k in (3, 4)]
            name = f"{cut[0]}.{cut[1]}"
            print(f"# to pass {cut[1]} of round {cut[0]}, {n_plain} plain rounds: time {time:.2f}, excess "
                  f"{100 * mean:5.2f} % [{100 * lo:.2f}, {100 * hi:.2f}], P90 of regret {p90[0]:.2f} % "
                  f"and {p90[1]:.2f} %")
            print(f"{name}.plain{n_plain}.time {time:.4f}\n{name}.plain{n_plain}.excess {mean:.6f}\n"
                  f"{name}.plain{n_plain}.excess_lo {lo:.6f}\n{name}.plain{n_plain}.excess_hi {hi:.6f}")


main()
