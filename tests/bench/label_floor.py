#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What errors of the labels alone cost: near twins as a second measurement.

usage: label_floor.py MODEL... [--near D] [--resamples N] [--seed S]

MODEL is a directory of `ksweep-analyze train`, such as those that tests/bench/heuristic.sh leaves in
--out; its problems.csv and oof.csv are read.

Twins are two problems that differ in one number only (batch, input channels, output channels, or image
size with the same aspect ratio) and agree in the alignment of channels and output width: the largest
power of two that divides them, up to 256, as far as tiles of kernels go. Their distance is the
logarithm of the ratio of that number. For problem B with twin A, the best of A among the instances
measured for B is used for B; the loss is 1 - best time of B / its time. Printed by classes of distance;
the intervals are 95 %, by resampling groups of chains. A chain has the problems that are equal but for
one number; chains that share a problem are of one group, since its label enters both. Groups differ in
size, and one can have most problems: with fewer than 10 there is no interval. A problem counts once in
each of its chains (at most one per number) and classes of distance, so the column `problems` can exceed
the list.

At distance 0 a twin would be another measurement of the same problem, so the loss that is left there,
by a line through the pairs nearer than --near (default 0.2), is due to errors of both labels:

one twin    the pick has the errors of A, its evaluation those of B
two twins   the pick is by the times of the nearest twin on either side, interpolated, whose errors have
            about half of the variance; no line, since the interpolation follows the distance
exact       what a pick without errors would lose to the errors of B alone

`exact` is an estimate of what no model can undercut on these problems. It assumes that the errors of two
measurements are independent and equally large, so that a pick with the share v of their variance loses
e (1 + v), e being `exact`; this holds if the differences between the best instances are spread evenly
on the scale of the errors. Then e is half of one twin, and two twins / (1 + v). `linear` assumes only
that the loss is linear in v: e = (two - v one) / (1 - v), with a wider interval; it is above the others
if instances tie. What changes between twins however near they are counts as an error; a loss that grows
faster than the distance makes the line too low.

Problems with twins are not a random sample of the list: `model` is the out-of-fold loss of the model on
the same problems, and `share` is `exact` over it.
"""
import argparse
import csv
import math
import os
import sys
from bisect import bisect_left
from collections import defaultdict

import numpy as np

EDGES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
LEAST_GROUPS = 10


class Problem:
    def __init__(self, row):
        self.field = dict(word.split("=", 1) for word in row["canonical"].split())
        self.time, self.loss = {}, math.nan

    def number(self, key):
        return int(self.field[key])

    def best(self):
        return min(self.time.values())


def read(model):
    """The problems of a model directory that have a choice: times, and the loss of the model's pick."""
    with open(os.path.join(model, "problems.csv"), newline="") as f:
        problems = {row["problem_id"]: Problem(row) for row in csv.DictReader(f)}
    picked = {}
    with open(os.path.join(model, "oof.csv"), newline="") as f:
        for row in csv.DictReader(f):
            problems[row["problem_id"]].time[row["instance_id"]] = float(row["time_ns"])
            if row["is_pick"] == "1":
                picked[row["problem_id"]] = row["instance_id"]
    for name, instance in picked.items():
        problems[name].loss = loss(problems[name], instance)
    return [p for p in problems.values() if p.time]


def loss(problem, instance):
    return 1 - problem.best() / problem.time[instance]


# ---- chains ----


def alignment(x):
    return min(x & -x, 256)


def out_width(p):
    n = p.number
    reach = n("dilation_w") * (n("x") - 1) + 1
    return (n("wi") + n("pad_w_lo") + n("pad_w_hi") - reach) // n("stride_w") + 1


def aligned(p):
    return (alignment(p.number("c_total") // p.number("g")), alignment(p.number("k_total") // p.number("g")),
            alignment(out_width(p)))


VARIED = {"batch": ("n",), "input channels": ("c_total",), "output channels": ("k_total",),
          "image size": ("di", "hi", "wi")}


def chains(problems):
    """Lists of (ln of the varied number, problem), in its order, without gaps that no pair spans."""
    found = defaultdict(list)
    for p in problems:
        for what, keys in VARIED.items():
            if what.endswith("channels") and p.number("g") > 1:
                continue  # more channels are not the same groups
            fixed = tuple(v for k, v in sorted(p.field.items()) if k not in keys)
            if what == "image size":
                fixed += (p.number("hi") / p.number("wi"), p.number("di"))
            found[what, fixed, aligned(p)].append((math.log(p.number(keys[-1])), p))
    return [part for c in found.values() for part in split(sorted(c, key=lambda item: item[0]))]


def split(chain):
    parts = [[chain[0]]]
    for item in chain[1:]:
        if item[0] - parts[-1][-1][0] > EDGES[-1]:
            parts.append([])
        parts[-1].append(item)
    return [part for part in parts if len(part) > 1]


def connected(all_chains):
    """Lists of chains that share problems, directly or by way of others."""
    leader = {}

    def find(x):
        while leader.setdefault(x, x) != x:
            leader[x] = x = leader[leader[x]]
        return x

    for chain in all_chains:
        for _, p in chain:
            leader[find(id(p))] = find(id(chain[0][1]))
    groups = defaultdict(list)
    for chain in all_chains:
        groups[find(id(chain[0][1]))].append(chain)
    return list(groups.values())


def pick(times, b):
    """The instance with the least of these times among those measured for b; None: there is none."""
    known = [i for i in times if i in b.time]
    return min(known, key=times.get) if known else None


def one_twin(chain, most):
    """(distance, loss, model's loss, weight); each problem weighs 1 within each class of distance."""
    out = []
    for at, b in chain:
        mine = defaultdict(list)
        for there, a in chain:
            d = abs(there - at)
            if a is b or not 0 < d <= most:
                continue
            instance = pick(a.time, b)
            if instance is not None:
                mine[bisect_left(EDGES, d)].append((d, loss(b, instance)))
        for pairs in mine.values():
            out += [(d, x, b.loss, 1 / len(pairs)) for d, x in pairs]
    return out


def between(low, high, share):
    """ln of the times between those of two twins (place, problem)."""
    return {i: (1 - share) * math.log(low[1].time[i]) + share * math.log(high[1].time[i])
            for i in low[1].time if i in high[1].time}


def two_twins(chain, most):
    """(share of the errors' variance, loss, model's loss, 1) for the nearest twin on either side."""
    out = []
    for k in range(1, len(chain) - 1):
        (at, b), low, high = chain[k], chain[k - 1], chain[k + 1]
        if not (0 < at - low[0] <= most and 0 < high[0] - at <= most):
            continue
        share = (at - low[0]) / (high[0] - low[0])
        instance = pick(between(low, high, share), b)
        if instance is not None:
            out.append((share ** 2 + (1 - share) ** 2, loss(b, instance), b.loss, 1.0))
    return out


# ---- means, lines, intervals ----


def sums(group_rows):
    """[n_groups][6] sums of w, w d, w d d, w x, w d x, w model."""
    table = np.zeros((len(group_rows), 6))
    for k, rows in enumerate(group_rows):
        for d, x, model, w in rows:
            table[k] += w, w * d, w * d * d, w * x, w * d * x, w * model
    return table


def mean_of(s):
    return s[..., 3] / s[..., 0]


def model_of(s):
    return s[..., 5] / s[..., 0]


def at_zero(s):
    """Where the least-squares line through (distance, loss) meets distance 0."""
    w, d, dd, x, dx = (s[..., k] for k in range(5))
    return (dd * x - d * dx) / (w * dd - d * d)


# From the sums of one twin and of two; [..., 7] is the sum of v.
EXACT = {
    "one twin": lambda s: at_zero(s[..., :6]) / 2,
    "two twins": lambda s: mean_of(s[..., 6:]) / (1 + s[..., 7] / s[..., 6]),
    "linear": lambda s: ((mean_of(s[..., 6:]) - s[..., 7] / s[..., 6] * at_zero(s[..., :6])) /
                         (1 - s[..., 7] / s[..., 6])),
}


class Resampling:
    """The same groups for every figure, so that differences of figures have intervals, too."""

    def __init__(self, n_groups, n, seed):
        chance = np.random.default_rng(seed)
        self.counts = [chance.multinomial(n_groups, np.full(n_groups, 1 / n_groups)) for _ in range(n)]

    def of(self, table, figure):
        """The figure of all groups, and [n] of the samples; none of too few groups."""
        samples = np.array([c @ table for c in self.counts])
        with np.errstate(divide="ignore", invalid="ignore"):
            figures = figure(samples)
            if np.count_nonzero(table.any(axis=1)) < LEAST_GROUPS:
                figures = np.full(len(samples), np.nan)
            return figure(table.sum(axis=0)), figures


def interval(samples):
    good = samples[np.isfinite(samples)]
    if len(good) < 0.9 * len(samples):
        return "          -      "
    return "[%7.4f, %7.4f]" % tuple(np.quantile(good, (0.025, 0.975)))


def p10(rows):
    """Of the efficiency, weighted: the least value with a tenth of the weight at or below it."""
    rows = sorted((1 - x, w) for _, x, _, w in rows)
    below = np.cumsum([w for _, w in rows])
    return rows[int(np.searchsorted(below, 0.1 * below[-1]))][0]


# ---- what is printed ----


def floor_of(groups, near, n_resamples, seed):
    """Yields lines (what, n problems, loss, samples of it, P10, model's loss); None: not given."""
    if not groups:
        return
    resampling = Resampling(len(groups), n_resamples, seed)
    ones = [[r for c in g for r in one_twin(c, EDGES[-1])] for g in groups]
    twos = [[r for c in g for r in two_twins(c, near)] for g in groups]
    for k, edge in enumerate(EDGES):
        rows = [[r for r in rs if bisect_left(EDGES, r[0]) == k] for rs in ones]
        table = sums(rows)
        flat = [r for rs in rows for r in rs]
        if flat:
            yield ("distance %.2f to %.2f" % (EDGES[k - 1] if k else 0, edge), table[:, 0].sum(),
                   *resampling.of(table, mean_of), p10(flat), model_of(table.sum(axis=0)))
    one, two = sums([[r for r in rs if r[0] <= near] for rs in ones]), sums(twos)
    both = np.hstack([one, two])
    if one[:, 0].sum() < 10 or two[:, 0].sum() < 10:
        return
    yield "at 0, one twin", one[:, 0].sum(), *resampling.of(one, at_zero), None, model_of(one.sum(axis=0))
    yield "two twins", two[:, 0].sum(), *resampling.of(two, mean_of), None, model_of(two.sum(axis=0))
    for what, exact in EXACT.items():
        yield "exact, " + what, None, *resampling.of(both, exact), None, None
    for what, model in ("one twin", slice(0, 6)), ("two twins", slice(6, 12)):
        share = resampling.of(both, lambda s: EXACT[what](s) / model_of(s[..., model]))
        yield "share, " + what, None, *share, None, None


def report(model, options):
    problems = read(model)
    lost = float(np.mean([p.loss for p in problems]))
    groups = connected(chains(problems))
    sizes = [len({id(p) for c in g for _, p in c}) for g in groups]
    print("%s: %d problems, model's loss %.4f" % (os.path.basename(model.rstrip("/")), len(problems), lost))
    print("  %d problems in %d chains in %d groups, the largest with %d" %
          (sum(sizes), sum(len(g) for g in groups), len(groups), max(sizes, default=0)))
    print("  %-24s %8s   %-7s %-19s  %-6s   %s" % ("", "problems", "loss", "95 %", "P10", "model"))
    lines = floor_of(groups, options.near, options.resamples, options.seed)
    for what, n, figure, samples, tenth, theirs in lines:
        print("  %-24s %8s   %7.4f %s  %6s   %s" %
              (what, "" if n is None else "%.0f" % n, figure, interval(samples),
               "" if tenth is None else "%.4f" % tenth, "" if theirs is None else "%.4f" % theirs))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--near", type=float, default=0.2)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    for model in options.model:
        try:
            report(model, options)
        except (OSError, KeyError, ValueError) as e:
            print("label_floor.py: %s: %s" % (model, e), file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
