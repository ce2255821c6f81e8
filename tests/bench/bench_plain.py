#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_plain.py RUN... - visits beside plain sampling, from recorded sweeps with visits of one job.

Plain sampling measures every instance in every round: round 0 of several sweeps. Visits: rounds 0 to r of
one sweep, in which contenders alone are measured. Both name a winner; what it takes is told by the sweeps
that neither has used: the label's statistic of each of their rounds, mean of logs. A visit's round is the
mean of logs of its passes; winners of visits are among those that have the last round, by the median over
rounds (plain: mean). Time: samples x calls of all measurements. Compared are the two winners with each
other, so that no yardstick's best is needed:
    excess = log time of the visits' winner - log time of plain sampling's winner
Prints for each r and number of plain rounds the time of visits over that of plain sampling, the mean of
the excess with a 95 % bootstrap interval over problems, and P90 of the regret of each against the best of
the held-out sweeps by the same statistic (which is too small for both alike). Lines "key value", and lines
for people behind "# "."""
import itertools
import os
import sys

import h5py
import numpy

LOW = 0.1
DRAWS = 1000
COLUMNS = ("problem_id", "instance_id", "round_index", "role", "is_final", "outcome_text", "sample_offset",
           "n_samples", "calls_per_sample", "attempt")


def low(ns):
    """The 10 % quantile, Hyndman and Fan 8, as src/record/statistic.c has it."""
    x = numpy.sort(ns)
    at = LOW * (len(x) + 1 / 3) + 1 / 3 - 1
    lo = min(max(int(numpy.floor(at)), 0), len(x) - 1)
    hi = min(lo + 1, len(x) - 1)
    return x[lo] + (x[hi] - x[lo]) * min(max(at - lo, 0), 1)


class Sweep:
    """value[cell][round]: log of the time, mean over passes; spent[problem][round]: ns."""

    def __init__(self, run):
        self.value, self.spent = {}, {}
        with h5py.File(os.path.join(run, "results.h5"), "r") as f:
            ns = f["samples/time_ns"][...].astype(float)
            rows = f["attempts"][...]
        rows = [dict(zip(COLUMNS, r)) for r in zip(*(rows[c].tolist() for c in COLUMNS))]
        last = {}
        for r in rows:
            if r["role"] == 0 and r["round_index"] == 0 and r["is_final"]:
                last[r["problem_id"], r["instance_id"]] = r["attempt"]
        for r in rows:
            cell = r["problem_id"], r["instance_id"]
            if r["role"] or not r["n_samples"]:
                continue
            x = ns[r["sample_offset"]:r["sample_offset"] + r["n_samples"]]
            spent = self.spent.setdefault(cell[0], {})
            if r["round_index"] or r["attempt"] == last.get(cell):
                spent[r["round_index"]] = spent.get(r["round_index"], 0) + x.sum() * r["calls_per_sample"]
                self.value.setdefault(cell, {}).setdefault(r["round_index"], []).append(numpy.log(low(x)))
        for rounds in self.value.values():
            for k in rounds:
                rounds[k] = float(numpy.mean(rounds[k]))


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


def winner_of_visits(sweep, cells, last):
    rounds = range(last + 1)
    value = align(sweep.value, cells, rounds)
    most = max(max(r for r in value[c]) for c in cells)
    left = [c for c in cells if most in value[c]]
    return min(left, key=lambda c: float(numpy.median(list(value[c].values()))))


def winner_of_plain(sweeps, cells):
    return min(cells, key=lambda c: sum(s.value[c][0] for s in sweeps))


def truth(sweeps, cells, n_rounds):
    aligned = [align(s.value, cells, range(n_rounds)) for s in sweeps]
    return {c: float(numpy.mean([v for a in aligned for v in a[c].values()])) for c in cells}


def problems_of(sweeps):
    cells = [c for c in sweeps[0].value if all(0 in s.value.get(c, {}) for s in sweeps)]
    out = {}
    for c in cells:
        out.setdefault(c[0], []).append(c)
    return {p: c for p, c in out.items() if len(c) > 1}


def compare(sweeps, problems, last, n_plain, n_rounds):
    """Per problem and split: time of visits / plain, excess, regret of both. Round 0 of the sweep with
    visits may be one of the plain rounds."""
    rows = []
    for visited in sweeps:
        for plain in itertools.combinations(sweeps, n_plain):
            held = [s for s in sweeps if s is not visited and s not in plain]
            if not held:
                continue
            for p, cells in problems.items():
                known = truth(held, cells, n_rounds)
                a, b = winner_of_visits(visited, cells, last), winner_of_plain(plain, cells)
                spent = sum(visited.spent[p].get(r, 0) for r in range(last + 1))
                best = min(known.values())
                rows.append((p, spent / sum(s.spent[p][0] for s in plain), known[a] - known[b],
                             known[a] - best, known[b] - best))
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
    problems = problems_of(sweeps)
    n_rounds = 1 + max(r for s in sweeps for v in s.value.values() for r in v)
    print(f"# {len(problems)} problems, {len(sweeps)} sweeps of up to {n_rounds} rounds")
    for last in range(n_rounds):
        for n_plain in range(1, len(sweeps)):
            rows = compare(sweeps, problems, last, n_plain, n_rounds)
            time = float(numpy.median([r[1] for r in rows]))
            mean, lo, hi = interval(rows)
            p90 = [100 * numpy.percentile([r[k] for r in rows], 90) for k in (3, 4)]
            print(f"# visits up to round {last} against {n_plain} plain rounds: time {time:.2f}, excess "
                  f"{100 * mean:.2f} % [{100 * lo:.2f}, {100 * hi:.2f}], P90 of regret {p90[0]:.2f} % "
                  f"and {p90[1]:.2f} %")
            print(f"visits.{last}.{n_plain}.time {time:.4f}\nvisits.{last}.{n_plain}.excess {mean:.6f}\n"
                  f"visits.{last}.{n_plain}.excess_lo {lo:.6f}\nvisits.{last}.{n_plain}.excess_hi {hi:.6f}")


main()
